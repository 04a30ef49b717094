"""Tell Placement what has changed of the own nodes.

Nothing is written without the right to, nor of a node whose record does not
name this service, and what Placement accepted is put on record at once: who
comes next goes on from there. A node that Placement refuses holds up no other.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Change, Records, Report
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic
from ironic_ownership.engine.placement import (
    backoff,
    inventory_diff,
    loop,
    provider_writer,
    staggered_schedule,
)

LOG = log.getLogger(__name__)

BATCH = 50
"""Nodes between two looks at the records: few, so that what was accepted is
soon on record, and a node that went elsewhere is soon left alone."""

PROGRESS = 1000
"""Nodes between two lines about a long report."""

_NOTHING = model.Scope(nothing=True)


class InventoryReport:
    """Reports the nodes of one service.

    Threading: :meth:`withdraw` from any thread, the rest from one.

    :param placement_: a client that no other thread uses.
    :param compare_interval: seconds after which each provider is compared
        with what it should be, in turn; 0 for never.
    :ivar counts: how it stands.
    """

    def __init__(
        self,
        host: str,
        records: Records,
        placement: Placement,
        fence: Fence,
        conditions: Conditions,
        *,
        compare_interval: float = 0.0,
        clock: Clock = monotonic,
    ) -> None:
        self._host = host
        self._records = records
        self._fence = fence
        self._provider = provider_writer.ProviderWriter(placement, fence.epoch)
        self._refusals = backoff.Backoff(conditions, clock)
        self._turns = staggered_schedule.StaggeredSchedule(
            compare_interval, clock
        )
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._withdrawn: set[str] = set()
        self.counts = loop.Counts()

    def withdraw(self, uuid: str) -> None:
        """Report a node no more until a refresh lists it again.

        Waits for the report of one node, if that is being written; its
        provider may be deleted afterwards, and is not made anew.
        """
        with self._lock:
            self._withdrawn.add(uuid)
        with self._writing:
            return  # nothing of it is on its way any more

    def tell(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report what is behind, or a part of it if something newer is there.

        :raises FencedError: if this service may not act, or no longer.
        :raises PlacementError: if Placement does not answer, or to nobody.
        :raises RecordsError: if the records can't be read or written.
        """
        with self._lock:
            self._withdrawn.difference_update(n.uuid for n in seen.nodes)
        records = self._own_records()
        made = inventory_diff.plan(
            seen.nodes, records, self._turns.due(records)
        )
        self._refusals.keep_only(made)
        steps = self._refusals.due(made.steps)
        written = 0
        self.counts.pending = len(made.steps)
        for batch in _batches([*steps, *made.comparisons]):
            accepted = self._write(batch)
            written += accepted
            if written % PROGRESS < accepted and written < len(steps):
                LOG.info(
                    'Placement: %s of %s nodes reported', written, len(steps)
                )
            if interrupted():
                break  # something may be more urgent now
        self.counts.refused = self._refusals.say()
        if written:
            LOG.info(
                'Placement: %s nodes reported, %s to go',
                written,
                self.counts.pending,
            )

    def _own_records(self) -> dict[str, model.ComputeNode]:
        return {
            record.uuid: record
            for record in self._records.compute_nodes_near(
                self._host, _NOTHING
            )
            if record.host == self._host
        }

    def _write(self, batch: Sequence[inventory_diff.Step]) -> int:
        """Report some nodes, and put on record what was accepted.

        :returns: the number of nodes that were behind and are not any more.
        """
        # By the records, too: the fence of this process may not know yet.
        self._records.apply(self._host, self._fence.epoch(), ())
        found = self._records.compute_nodes_by_uuid([s.uuid for s in batch])
        own = {record.uuid for record in found if record.host == self._host}
        accepted: list[Change] = []
        created: set[str] = set()
        complete = 0
        trouble: exceptions.OwnershipError | None = None
        for step in batch:
            if step.uuid not in own:
                continue
            try:
                result = self._write_one(step)
            except (
                exceptions.PlacementError,
                exceptions.FencedError,
            ) as exc:
                trouble = exc
                break
            if result is None:
                continue
            self._turns.over(step.uuid)
            if result.created:
                created.add(step.uuid)
            if result.digest != step.known:
                accepted.append(Report(step.uuid, result.digest))
            if result.refusal is not None:
                self._refusals.refused(step, result.refusal)
            else:
                self._refusals.accepted(step)
                complete += not step.compares
        if accepted:
            self._remember(accepted, created)
        self.counts.written += complete
        self.counts.pending -= complete
        if trouble is not None:
            raise trouble
        return complete

    def _write_one(
        self, step: inventory_diff.Step
    ) -> provider_writer.Result | None:
        with self._writing:
            with self._lock:
                if step.uuid in self._withdrawn:
                    return None
            return self._provider.write(step)

    def _remember(
        self, accepted: Sequence[Change], created: Collection[str]
    ) -> None:
        """Put on record what was accepted; undo what nobody wants any more.

        An operator may have deleted a record, and its provider, meanwhile.
        """
        outcome = self._records.apply(
            self._host,
            self._fence.epoch(),
            accepted,
            confirm=self._fence.epoch,
        )
        lost = {change.uuid for change in outcome.refused} & set(created)
        for record in self._records.compute_nodes_by_uuid(lost):
            lost.discard(record.uuid)
        for uuid in lost:
            self._provider.undo(uuid)


def _batches(
    steps: Sequence[inventory_diff.Step],
) -> Iterator[Sequence[inventory_diff.Step]]:
    remaining = iter(steps)
    while batch := list(itertools.islice(remaining, BATCH)):
        yield batch
