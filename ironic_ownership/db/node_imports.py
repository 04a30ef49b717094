"""Imports of owners by operators, on SQL.

The rules are those of a claim by the service itself: only an unowned node is
taken, under the locks that every writer takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import (
    change_transaction,
    rows,
    service_admin,
    transaction,
)
from ironic_ownership.db.transaction import Transaction


class SqlNodeImports(transaction.Port):
    """Imports of owners by operators.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @transaction.writes
    def claim(
        self,
        tx: Transaction,
        host: str,
        nodes: Sequence[model.Node],
        origin: Origin,
        *,
        create: bool = False,
    ) -> Mapping[str, str]:
        """Record a service as the owner of unowned nodes, in one transaction.

        An instance that a node has is recorded with it. Leaves one event for
        each node, and one for each instance.

        :param host: canonical name of the service.
        :param nodes: as Ironic has them, each once.
        :param origin: the operator's request, for the events.
        :param create: create the row of the service if there is none, as one
            that never registered.
        :returns: why a node was not recorded, by uuid: it got an owner before,
            or a move or a release holds it, or a cell objects.
        :raises NotFoundError: if there is no such service.
        :raises FencedError: if the service has no right to write: it was
            stopped or forced down. Nothing is changed.
        """
        if create and service_admin.lock(tx, host) is None:
            # Another transaction may insert it first: this one is repeated
            # then.
            tx.insert_service(host, revision=tx.first_revision())
        service = service_admin.lock_known(tx, host)
        outcome = change_transaction.apply(
            tx,
            host,
            service.epoch,
            [
                # Ironic has it, so a deletion that was begun ends.
                Claim(node, Reason.IMPORTED, seen_deletion=True)
                for node in nodes
            ],
            origin=origin,
        )
        refused = [claim.uuid for claim in outcome.refused]
        found, _ = tx.lock_recorded(refused)
        linked_nodes, now = tx.linked.lock(tx.conn, refused), tx.now()
        return {
            uuid: rows.against_held(found.get(uuid), now)
            or linked_nodes.against_claim(uuid, host)
            or 'it got an owner in the last moment'
            for uuid in refused
        }
