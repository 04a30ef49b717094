"""Delete the records of nodes that are gone: the last part of a refresh.

Each record by itself, and only if it passes every gate of a deletion. What
does not is kept, and looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.records import Forget, Records, Report
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
from ironic_ownership.engine.membership.fence import Fence


class RecordCleanup:
    """Deletes what one service owns and Ironic does not have any more.

    :param reporter: told of each provider that is about to go.
    """

    def __init__(
        self,
        host: str,
        remover: Remover,
        records: Records,
        source: inventory.Inventory,
        fence: Fence,
        operator_log: OperatorLog,
        missing_nodes: MissingNodes,
        reporter: refresh_result.Reporter | None = None,
    ) -> None:
        self._host = host
        self._remover = remover
        self._records = records
        self._source = source
        self._fence = fence
        self._operator_log = operator_log
        self._missing_nodes = missing_nodes
        self._reporter = reporter
        self._kept: dict[str, list[GateResult]] = {}

    def keep_only(self, missing: Iterable[str]) -> None:
        """Forget what was kept of nodes that came back, or moved."""
        for uuid in self._kept.keys() - set(missing):
            del self._kept[uuid]

    def forget(
        self,
        scope: model.Scope,
        seen: snapshot.Snapshot,
        found: Findings,
    ) -> int:
        """Delete the records whose every gate is passed, one by one.

        :param scope: in which the nodes of ``seen`` were listed.
        :returns: the number of deleted records.
        :raises FencedError: if this service may not act, or no longer.
        :raises OwnershipError: if the records do not answer.
        """
        deleted = 0
        batch = Batch()
        if found.gone:
            batch = self._round(scope, len(seen.nodes), found)
        for uuid in found.gone:
            removal = self._remove(seen.records[uuid], batch)
            self._kept.pop(uuid, None)
            if removal.deleted:
                deleted += 1
                self._operator_log.changed(Forget(uuid))
                continue
            self._kept[uuid] = removal.refused
            if any(r.outcome is Outcome.UNKNOWN for r in removal.refused):
                # Whoever did not answer may do so at the next refresh.
                self._missing_nodes.ask_again([uuid])
        self._operator_log.kept_records(self._kept)
        return deleted

    def _remove(self, record: model.ComputeNode, batch: Batch) -> Removal:
        def forget() -> bool:
            outcome = self._records.apply(
                self._host,
                self._fence.epoch(),
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
        """Make sure, before a provider goes, that nobody relies on it.

        A node may come back before its record is deleted.

        :raises FencedError: if this service may not act.
        """
        epoch = self._fence.epoch()
        if self._reporter is not None:
            self._reporter.withdraw(record.uuid)
        if record.placement_digest is not None:
            self._records.apply(self._host, epoch, [Report(record.uuid, None)])

    def _round(
        self, scope: model.Scope, listed: int, found: Findings
    ) -> Batch:
        """Judge what is the same for all records of this refresh."""
        batch = Batch(mass_loss=found.mass_loss)
        counted = gates.scope_to_count(scope)
        if counted != scope:
            try:
                listed = len(self._source.scan(counted))
            except exceptions.IronicError as exc:
                batch.details[gates.Gate.SEES_ALL_NODES] = str(exc)
                return batch
        compare_counts(self._source, counted.shard, listed, batch)
        return batch
