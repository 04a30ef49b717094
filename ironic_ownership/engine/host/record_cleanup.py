"""Delete the records of nodes that are gone, at the end of a refresh.

Each record is deleted separately, and only if it passes every gate of a
deletion. Records that do not are kept, and checked again later. A record
without an owner is claimed first: only an owner deletes.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import (
    BeginDeletion,
    Change,
    Claim,
    Delete,
)
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.deletion.missing_nodes import (
    Batch,
    Findings,
    Limits,
    MissingNodes,
    compare_counts,
)
from ironic_ownership.engine.deletion.remover import (
    CHANGED,
    NodeDeletion,
    Remover,
)
from ironic_ownership.engine.gates import Found, GateResult, Outcome
from ironic_ownership.engine.host import refresh_result, snapshot
from ironic_ownership.engine.host.reconciler import Reconciler


@dataclasses.dataclass(eq=False)
class RecordCleanup:
    """Deletes records whose nodes Ironic no longer has.

    :param missing_nodes: answers for own nodes.
    :param reporter: informed of each provider before it is deleted.
    :ivar is_unfinished: whether records were left to the next refresh.
    """

    reconciler: Reconciler
    missing_nodes: MissingNodes
    reporter: refresh_result.Reporter | None = None

    def __post_init__(self) -> None:
        self.context = self.reconciler.context
        self.operator_log = self.reconciler.operator_log
        ports = self.context.ports
        self._records = ports.records
        self._remover = Remover(ports)
        self._unowned_nodes = MissingNodes(
            ports.ironic, self.missing_nodes.limits, self.context.clock
        )
        self._kept: dict[str, list[GateResult]] = {}
        self.is_unfinished = False

    def reconfigure(self, limits: Limits) -> None:
        """Use other limits from the next refresh on."""
        for nodes in (self.missing_nodes, self._unowned_nodes):
            if nodes.limits != limits:
                # Another limit may explain what was not deleted so far.
                nodes.ask_all_again()
            nodes.limits = limits

    def delete(self, seen: snapshot.Snapshot, found: Findings) -> int:
        """Delete own records that pass every gate, one by one.

        :returns: the number of deleted records.
        :raises FencedError: if this service lost its write lease.
        :raises OwnershipError: if the records do not answer.
        """
        self.is_unfinished = False
        return self._delete(seen, found, self.missing_nodes)

    def delete_unowned(
        self, seen: snapshot.Snapshot, peer_groups: PeerGroups
    ) -> int:
        """Delete records in scope that no service owns, as :meth:`delete`.

        One of the services that share a scope does it, chosen by the uuid;
        the claim decides where scopes overlap.

        :returns: the number of deleted records.
        :raises OwnershipError: as :meth:`delete`, or if Ironic fails.
        """
        group = peer_groups.group_of.get(self.context.host)
        if group is None:
            return 0
        hosts = [host for host in group.hosts if host in peer_groups.alive]
        owners = seen.services.keys() | seen.view.hosts
        unowned = {
            record.uuid
            for record in seen.records.values()
            if record.host not in owners
            and _chosen(record.uuid, hosts) == self.context.host
        }
        missing = {uuid for uuid in unowned if uuid not in seen.nodes}
        nodes = self._unowned_nodes
        found = nodes.examine(missing, len(unowned))
        self.is_unfinished |= bool(found.pending)
        # With nodes left to look up, they may not be lost: nothing is logged.
        if (found.mass_loss and found.pending) or (
            self.operator_log.is_mass_loss(found, len(unowned), owned=False)
        ):
            nodes.ask_again(found.looked_up)
            return 0
        return self._delete(seen, found, nodes)

    def _delete(
        self,
        seen: snapshot.Snapshot,
        found: Findings,
        missing_nodes: MissingNodes,
    ) -> int:
        deleted = 0
        batch = Batch()
        self._drop_kept(seen, found)
        if found.gone:
            batch = self._batch(seen, found)
        for uuid in found.gone:
            try:
                removal = self._remove(seen.records[uuid], batch)
            except exceptions.OwnershipError:
                missing_nodes.ask_again(found.gone)
                raise
            self._kept.pop(uuid, None)
            if removal.deleted:
                deleted += 1
                continue
            refused = {r.gate: r.outcome for r in removal.refused}
            if gates.STILL_OWNER in refused:
                continue  # another process was first
            self._kept[uuid] = removal.refused
            if Outcome.UNKNOWN in refused.values():
                # A service that did not answer may do so next time.
                missing_nodes.ask_again([uuid])
                self.is_unfinished = True
        self.operator_log.kept_records(self._kept)
        return deleted

    def _drop_kept(self, seen: snapshot.Snapshot, found: Findings) -> None:
        """Drop kept records that another deleted, and nodes that returned."""
        back = {node.uuid for node in found.elsewhere}
        for uuid in list(self._kept):
            if uuid in back or uuid in seen.nodes or uuid not in seen.records:
                del self._kept[uuid]

    def _remove(self, record: model.ComputeNode, batch: Batch) -> NodeDeletion:
        return self._remover.remove(
            record,
            batch,
            begin=lambda: self._begin(record),
            delete=lambda: self._apply(Delete(record.uuid)),
        )

    def _begin(self, record: model.ComputeNode) -> str | None:
        is_own = record.host == self.context.host
        if not (is_own or self._apply(_claim(record))):
            return CHANGED
        # Without the right to write, nothing is withdrawn.
        self.context.fence.epoch()
        # No later report may put a digest next to the mark.
        if self.reporter is not None:
            self.reporter.withdraw(record.uuid)
        begun = self._apply(BeginDeletion(record.uuid))
        return None if begun else CHANGED

    def _apply(self, change: Change) -> bool:
        token = self.reconciler.feed.read_token()
        fence = self.context.fence
        # A node that is enrolled again may get another owner at once.
        with fence.releasing([change.uuid]):
            outcome = self._records.apply(
                self.context.host, fence.epoch(), [change]
            )
        self.reconciler.feed.written(token, outcome.applied)
        for applied in outcome.applied:
            self.operator_log.changed(applied)
        return not outcome.refused

    def _batch(self, seen: snapshot.Snapshot, found: Findings) -> Batch:
        few = 'too many' if found.mass_loss else 'few'
        text = f'{few} nodes of its owner are missing from Ironic'
        batch = Batch(
            {gates.NO_MASS_LOSS: gates.fact(not found.mass_loss, text)}
        )
        # The narrowest scope whose nodes Ironic also counts.
        counted, listed = model.Scope(shard=seen.scope.shard), len(seen.nodes)
        if counted != seen.scope:
            try:
                listed = len(self.context.ports.ironic.scan(counted))
            except exceptions.IronicError as exc:
                unknown = Found(Outcome.UNKNOWN, str(exc))
                batch.found[gates.SEES_ALL_NODES] = unknown
                return batch
        batch.found[gates.SEES_ALL_NODES] = compare_counts(
            self.context.ports.ironic,
            counted.shard,
            listed,
            trusted=self.missing_nodes.limits.trusts_credential,
        )
        return batch


def _chosen(uuid: str, hosts: Sequence[str]) -> str:
    return hosts[zlib.crc32(uuid.encode()) % len(hosts)]


def _claim(record: model.ComputeNode) -> Claim:
    node = model.Node(
        record.uuid,
        name=record.name,
        driver=record.driver,
        shard=record.shard,
        conductor_group=record.conductor_group,
    )
    return Claim(
        node,
        reasons.Reason.NODE_GONE,
        seen_host=record.host,
        seen_deletion=record.reason is reasons.Reason.BEING_DELETED,
    )
