"""Delete the records of nodes that are gone, at the end of a refresh.

Each record is deleted separately, and only if it passes every gate of a
deletion. Records that do not are kept, and checked again later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Forget, Report
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.deletion.mass_loss import Batch, compare_counts
from ironic_ownership.engine.deletion.missing_nodes import (
    Findings,
    MissingNodes,
)
from ironic_ownership.engine.deletion.remover import Removal, Remover
from ironic_ownership.engine.gates import GateResult, Outcome
from ironic_ownership.engine.host import refresh_result, snapshot
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(eq=False)
class RecordCleanup:
    """Deletes own records whose nodes Ironic no longer has.

    :param reporter: informed of each provider before it is deleted.
    """

    context: ServiceContext
    operator_log: OperatorLog
    missing_nodes: MissingNodes
    reporter: refresh_result.Reporter | None = None

    def __post_init__(self) -> None:
        ports = self.context.ports
        self._records = ports.records
        self._remover = Remover(ports.records, ports.source, ports.placement)
        self._kept: dict[str, list[GateResult]] = {}

    def keep_only(self, missing: Iterable[str]) -> None:
        """Drop kept records whose nodes came back, or moved."""
        for uuid in self._kept.keys() - set(missing):
            del self._kept[uuid]

    def delete(
        self,
        scope: model.Scope,
        seen: snapshot.Snapshot,
        found: Findings,
    ) -> int:
        """Delete the records that pass every gate, one by one.

        :param scope: in which the nodes of ``seen`` were listed.
        :returns: the number of deleted records.
        :raises FencedError: if this service lost its write lease.
        :raises OwnershipError: if the records do not answer.
        """
        deleted = 0
        batch = Batch()
        if found.gone:
            batch = self._batch(scope, len(seen.nodes), found)
        for uuid in found.gone:
            removal = self._remove(seen.records[uuid], batch)
            self._kept.pop(uuid, None)
            if removal.deleted:
                deleted += 1
                self.operator_log.changed(Forget(uuid))
                continue
            self._kept[uuid] = removal.refused
            if any(r.outcome is Outcome.UNKNOWN for r in removal.refused):
                # A service that did not answer may do so next time.
                self.missing_nodes.ask_again([uuid])
        self.operator_log.kept_records(self._kept)
        return deleted

    def _remove(self, record: model.ComputeNode, batch: Batch) -> Removal:
        def forget() -> bool:
            outcome = self._records.apply(
                self.context.host,
                self.context.fence.epoch(),
                [Forget(record.uuid)],
            )
            return not outcome.refused

        return self._remover.remove(
            record,
            batch,
            may_act=lambda: self._withdraw(record),
            forget=forget,
        )

    def _withdraw(self, record: model.ComputeNode) -> None:
        # Before its provider is deleted: the node may come back before its
        # record is deleted.
        epoch = self.context.fence.epoch()
        if self.reporter is not None:
            self.reporter.withdraw(record.uuid)
        if record.placement_digest is not None:
            self._records.apply(
                self.context.host, epoch, [Report(record.uuid, None)]
            )

    def _batch(
        self, scope: model.Scope, listed: int, found: Findings
    ) -> Batch:
        batch = Batch(mass_loss=found.mass_loss)
        counted = gates.scope_to_count(scope)
        if counted != scope:
            try:
                listed = len(self.context.ports.source.scan(counted))
            except exceptions.IronicError as exc:
                batch.details[gates.Gate.SEES_ALL_NODES] = str(exc)
                return batch
        compare_counts(self.context.ports.source, counted.shard, listed, batch)
        return batch
