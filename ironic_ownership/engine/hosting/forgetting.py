"""Delete the records of nodes that are gone: the last part of a refresh.

Each record by itself, and only if it passes every gate of a deletion. What
does not is kept, and looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts import records as records_
from ironic_ownership.engine.hosting import journal, refreshed, snapshot
from ironic_ownership.engine.members import fence
from ironic_ownership.engine.removing import absentees, deletion, removal


class Forgetting:
    """Deletes what one service owns and Ironic does not have any more.

    :param reporter: told of each provider that is about to go.
    """

    def __init__(
        self,
        host: str,
        remover: removal.Remover,
        records: records_.Records,
        source: inventory.Inventory,
        fence_: fence.Fence,
        journal_: journal.Journal,
        absentees_: absentees.Absentees,
        reporter: refreshed.Reporter | None = None,
    ) -> None:
        self._host = host
        self._remover = remover
        self._records = records
        self._source = source
        self._fence = fence_
        self._journal = journal_
        self._absentees = absentees_
        self._reporter = reporter
        self._kept: dict[str, list[deletion.Judgement]] = {}

    def keep_only(self, missing: Iterable[str]) -> None:
        """Forget what was kept of nodes that came back, or moved."""
        for uuid in self._kept.keys() - set(missing):
            del self._kept[uuid]

    def forget(
        self,
        scope: model.Scope,
        seen: snapshot.Snapshot,
        found: absentees.Findings,
    ) -> int:
        """Delete the records whose every gate is passed, one by one.

        :param scope: in which the nodes of ``seen`` were listed.
        :returns: the number of deleted records.
        :raises FencedError: if this service may not act, or no longer.
        :raises OwnershipError: if the records do not answer.
        """
        deleted = 0
        round_ = removal.Round()
        if found.gone:
            round_ = self._round(scope, len(seen.nodes), found)
        for uuid in found.gone:
            outcome = self._remove(seen.records[uuid], round_)
            self._kept.pop(uuid, None)
            if outcome.deleted:
                deleted += 1
                self._journal.changed(records_.Forget(uuid))
                continue
            self._kept[uuid] = outcome.failed
            if any(
                j.verdict is deletion.Verdict.UNKNOWN for j in outcome.failed
            ):
                # Whoever did not answer may do so at the next refresh.
                self._absentees.ask_again([uuid])
        self._journal.kept_records(self._kept)
        return deleted

    def _remove(
        self, record: model.ComputeNode, round_: removal.Round
    ) -> removal.Outcome:
        def forget() -> bool:
            outcome = self._records.apply(
                self._host,
                self._fence.epoch(),
                [records_.Forget(record.uuid)],
            )
            return not outcome.refused

        return self._remover.remove(
            record,
            round_,
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
            self._records.apply(
                self._host, epoch, [records_.Report(record.uuid, None)]
            )

    def _round(
        self, scope: model.Scope, listed: int, found: absentees.Findings
    ) -> removal.Round:
        """Judge what is the same for all records of this refresh."""
        round_ = removal.Round(mass_loss=found.mass_loss)
        counted = deletion.scope_to_count(scope)
        if counted != scope:
            try:
                listed = len(self._source.scan(counted))
            except exceptions.IronicError as exc:
                round_.details[deletion.Gate.SEES_ALL_NODES] = str(exc)
                return round_
        removal.count_all(self._source, counted.shard, listed, round_)
        return round_
