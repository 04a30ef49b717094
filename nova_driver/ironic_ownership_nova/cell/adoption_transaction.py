"""Adopt nodes of a cell inside one transaction.

The host of a node's row becomes its owner on record, while services of stock
Nova run and may change the row. Locks are taken in the order of
``transaction``, then those of the companion.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.model import canonical_host
from ironic_ownership.db import change_set, rows, tables, transaction
from ironic_ownership.db.transaction import Transaction
from ironic_ownership_nova.cell.companion import Cell
from ironic_ownership_nova.cell.locked_rows import LockedRows, strays
from ironic_ownership_nova.cell.model import Result, State

_nodes = tables.compute_nodes.c
_instances = tables.instances.c

REASON = reasons.Reason.ADOPTED.value

_Rows = list[dict[str, Any]]


class Adoption:
    """The adoption of some nodes, in one transaction.

    Locks all that it decides from when it is made.

    :param nodes: as Ironic has them, by uuid; ``None`` for one that Ironic
        does not have.
    :param origin: of the events.
    """

    def __init__(
        self,
        tx: Transaction,
        companion: Cell,
        nodes: Mapping[str, model.Node | None],
        origin: Origin,
    ) -> None:
        self._tx, self._companion = tx, companion
        self._nodes, self._origin = nodes, origin
        uuids = sorted(nodes)
        # Before the locks: it reads all rows of the cell.
        self._strays = strays(tx.conn, companion.tables, uuids)
        hosts = {canonical_host(h) for h in self._hosts()}
        self._services = self._add_services(hosts)
        self._records, self._open_instances = tx.lock_nodes(uuids)
        cell = companion.lock(tx.conn, uuids)
        assert isinstance(cell, LockedRows)
        self._cell = cell
        named = {canonical_host(r.host or '') for r in cell.nodes.values()}
        if late := (named & cell.services.keys()) - self._services.keys():
            # Stock Nova has given a node to one that had none when it was
            # read.
            self._services |= self._add_services(late)
        self._now = tx.now()
        # What is to be written, most of it by host.
        self._new_nodes: _Rows = []
        self._new_instances: _Rows = []
        self._events: _Rows = []
        self._closed_on: list[str] = []
        self._changed = collections.defaultdict[str, list[str]](list)
        self._moved_on = collections.defaultdict[str, list[str]](list)
        self._assigned = collections.defaultdict[str, list[str]](list)

    def run(self) -> Sequence[Result]:
        """Adopt the nodes; one that does not agree keeps the others not."""
        found = [self._adopt(uuid) for uuid in sorted(self._nodes)]
        self._write()
        return found

    def _hosts(self) -> Iterable[str]:
        """Return the hosts of the cell that a node of Ironic names."""
        found = self._companion.tables
        node, service = found.compute_nodes.c, found.services.c
        named = sa.select(node.host).where(
            found.is_of_ironic, node.deleted == 0
        )
        return self._tx.conn.scalars(
            sa.select(service.host)
            .where(found.is_compute, service.host.in_(named))
            .distinct()
        )

    def _add_services(
        self, hosts: set[str]
    ) -> dict[str, change_set.ServiceState]:
        """Lock the services; insert those without a record, with epoch 0."""
        tx = self._tx
        owners = set(
            tx.conn.scalars(
                sa.select(_nodes.host)
                .where(_nodes.host.is_not(None))
                .distinct()
            )
        )
        services = tx.lock_services(hosts | owners, write=False)
        missing = sorted(hosts - services.keys())
        if missing:
            flags = self._companion.flags(tx.conn, missing)
            revision = tx.first_revision()
            for host in missing:
                own = dataclasses.asdict(flags[host])
                tx.insert_service(host, revision=revision, **own)
            services |= tx.lock_services(missing, write=False)
        return services

    def _adopt(self, uuid: str) -> Result:
        row = self._cell.nodes.get(uuid)
        if odd := self._strays.get(uuid):
            # Which of the two is the node's is for an operator to decide.
            return _refused(
                uuid,
                None if row is None else canonical_host(row.host or ''),
                f'uuid_differs: {" and ".join(map(str, odd))} is not '
                'the uuid of the node, and a row of the cell has it; see '
                '"ironic-ownership nova check"',
            )
        if row is None or row.deleted != 0:
            return _refused(
                uuid, None, 'row_missing: Nova has deleted its row'
            )
        host = canonical_host(row.host or '')
        record = self._records.get(uuid)
        objection = rows.against_held(record, self._now)
        if objection := objection or self._objection(uuid, host):
            return _refused(uuid, host, objection)
        before: str | None = None
        if record is not None and record['deleted_at'] is None:
            before = record['host']
        service = self._services.get(before or '')
        # Stock Nova moves free nodes by itself.
        follows = service is None or not service.registered
        if before not in (None, host) and not follows:
            return _refused(
                uuid,
                host,
                f'owned: {before} owns it on record, its row names {row.host}',
            )
        self._assigned[host].append(uuid)
        instance = next(iter(self._cell.running(uuid)), None)
        known = self._open_instances.get(uuid)
        if before == host and (instance in (None, known) or not follows):
            return Result(uuid, host, State.UNCHANGED)
        self._take(uuid, host, before)
        if instance is not None and instance != known:
            if known is not None:
                self._closed_on.append(uuid)
            self._new_instances.append(
                rows.new_instance(instance, uuid, host, self._now, REASON)
            )
        elif known is not None:
            self._moved_on[host].append(uuid)
        return Result(uuid, host, State.ADOPTED)

    def _objection(self, uuid: str, host: str) -> str | None:
        if host not in self._cell.services:
            return f'no_service: the cell has no nova-compute service {host}'
        running = self._cell.running(uuid)
        if len(running) > 1:
            return f'double_instances: {", ".join(running)} run on it'
        for instance in self._cell.instances.get(uuid, ()):
            if canonical_host(instance.host) != host:
                return (
                    f'half_moved: its instance {instance.uuid} is on '
                    f'{instance.host}'
                )
        return None

    def _take(self, uuid: str, host: str, before: str | None) -> None:
        if uuid in self._records:
            self._changed[host].append(uuid)
        else:
            # Ironic does not have it: its owner finds that out, and deletes
            # it.
            node = self._nodes[uuid] or model.Node(uuid, driver='')
            self._new_nodes.append(
                {
                    'uuid': uuid,
                    'host': host,
                    'reason': REASON,
                    'created_at': self._now,
                    'updated_at': self._now,
                    **change_set.attributes(node),
                }
            )
        if before != host:
            self._events.append(
                rows.new_event(
                    self._now,
                    self._origin,
                    EventKind.OWNER_CHANGED,
                    node_uuid=uuid,
                    from_host=before,
                    to_host=host,
                    reason=REASON,
                )
            )

    def _write(self) -> None:
        tx = self._tx
        if self._new_nodes or self._changed:
            tx.raise_revisions(sorted(self._services))
        mark = transaction.mark(self._services)
        tx.add_rows(
            tables.compute_nodes, [{**row, **mark} for row in self._new_nodes]
        )
        for host, uuids in sorted(self._changed.items()):
            tx.update_rows(
                _nodes.uuid,
                uuids,
                host=host,
                reason=REASON,
                updated_at=self._now,
                deleted_at=None,
                **change_set.NOT_RELEASED,
                **mark,
            )
        tx.close_instances(self._closed_on, self._now)
        for host, uuids in sorted(self._moved_on.items()):
            tx.update_rows(_instances.open_node_uuid, uuids, host=host)
        tx.add_rows(tables.instances, self._new_instances)
        tx.add_rows(tables.events, self._events)
        for host, uuids in sorted(self._assigned.items()):
            # The host stays; a service id that is missing is added.
            self._cell.assign(uuids, host)


def _refused(uuid: str, host: str | None, detail: str) -> Result:
    return Result(uuid, host, State.REFUSED, detail)
