"""Report of changed nodes to Placement, for the service that owns them.

Writes only with a valid fence, and only nodes whose record names this
service. What Placement accepted is recorded immediately, so that the next
process continues from there. A refused node does not delay others.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.placement import (
    FIRST_GENERATION,
    Confirm,
    Placement,
)
from ironic_ownership.contracts.records import Change, Report
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic
from ironic_ownership.engine.placement import (
    backoff,
    inventory_diff,
    loop,
    staggered_schedule,
)
from ironic_ownership.engine.ports import Records

LOG = log.getLogger(__name__)

BATCH = 50
"""Nodes between two reads of the records: few, so that accepted reports are
recorded soon, and nodes that changed owner are no longer written."""

PROGRESS = 1000
"""Nodes between two log lines about a long report."""

_NOTHING = model.Scope(nothing=True)
_REFUSALS = (
    exceptions.ProviderBusyError,
    exceptions.ProviderInUseError,
    exceptions.PlacementRefusedError,
    exceptions.NoProviderError,
)


class InventoryReport:
    """Reports the nodes of one service.

    Threading: :meth:`withdraw` from any thread, the rest from one.

    :param placement: a client that no other thread uses.
    :param compare_interval: seconds between two comparisons of one provider
        with its wanted state; 0 for never.
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
        self._provider = _ProviderWriter(placement, fence.epoch)
        self._backoff = backoff.Backoff(conditions, clock)
        self._schedule = staggered_schedule.StaggeredSchedule(
            compare_interval, clock
        )
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._withdrawn: set[str] = set()
        self.counts = loop.Counts()

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node until a refresh lists it again.

        Waits for a write in progress. Its provider can be deleted afterwards
        and is not created again.
        """
        with self._lock:
            self._withdrawn.add(uuid)
        with self._writing:
            return  # no write of it is in progress

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report the nodes that are out of date, until interrupted.

        :raises FencedError: if this service may not act.
        :raises PlacementError: if Placement does not answer any request.
        :raises RecordsError: if the records can't be read or written.
        """
        with self._lock:
            self._withdrawn = {
                uuid for uuid in self._withdrawn if uuid not in seen.nodes
            }
        records = self._own_records()
        diff = inventory_diff.compare(
            seen.nodes.values(), records, self._schedule.due(records)
        )
        self._backoff.keep_only(diff)
        steps = self._backoff.due(diff.steps)
        written = 0
        self.counts.pending = len(diff.steps)
        for batch in _batches([*steps, *diff.comparisons]):
            accepted = self._write(batch)
            written += accepted
            if written % PROGRESS < accepted and written < len(steps):
                LOG.info(
                    'Placement: %s of %s nodes reported', written, len(steps)
                )
            if interrupted():
                break  # a newer refresh may have more urgent changes
        self.counts.refused = self._backoff.report()
        if written:
            LOG.info(
                'Placement: %s nodes reported, %s remaining',
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
        # Also checks the fence in the records, which may be newer.
        self._records.apply(self._host, self._fence.epoch(), ())
        found = self._records.compute_nodes_by_uuid([s.uuid for s in batch])
        own = {record.uuid for record in found if record.host == self._host}
        accepted: list[Change] = []
        created: set[str] = set()
        complete = 0
        error: exceptions.OwnershipError | None = None
        for step in batch:
            if step.uuid not in own:
                continue
            try:
                result = self._write_one(step)
            except (
                exceptions.PlacementError,
                exceptions.FencedError,
            ) as exc:
                error = exc
                break
            if result is None:
                continue
            self._schedule.done(step.uuid)
            if result.created:
                created.add(step.uuid)
            if result.digest != step.known:
                accepted.append(Report(step.uuid, result.digest))
            if result.refusal is not None:
                self._backoff.refused(step, result.refusal)
            else:
                self._backoff.accepted(step)
                complete += not step.compares
        if accepted:
            self._remember(accepted, created)
        self.counts.written += complete
        self.counts.pending -= complete
        if error is not None:
            raise error
        return complete

    def _write_one(self, step: inventory_diff.Step) -> _Result | None:
        with self._writing:
            with self._lock:
                if step.uuid in self._withdrawn:
                    return None
            return self._provider.write(step)

    def _remember(
        self, accepted: Sequence[Change], created: Collection[str]
    ) -> None:
        """Record what was accepted; delete new providers without a record.

        An operator may have deleted record and provider in the meantime.
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


@dataclasses.dataclass(frozen=True, slots=True)
class _Result:
    """Result of one step.

    :param digest: of what Placement has accepted; ``None`` for nothing.
    :param refusal: the reason if that is not all of it.
    :param created: whether the provider is new.
    """

    digest: str | None
    refusal: exceptions.PlacementError | None = None
    created: bool = False


class _ProviderWriter:
    """Writes providers, step by step.

    Threading: one thread at a time.

    :param confirm: called before each request that writes.
    """

    def __init__(self, placement: Placement, confirm: Confirm) -> None:
        self._placement = placement
        self._confirm = confirm

    def write(self, step: inventory_diff.Step) -> _Result:
        """Bring the provider of a node up to date.

        :raises PlacementError: if Placement does not answer any request.
        :raises FencedError: if the right to write was lost.
        """
        try:
            return self._write(step)
        except exceptions.NoProviderError:
            # Deleted by another client, with its inventory and traits.
            step = dataclasses.replace(step, known=None)
        try:
            return self._write(step)
        except exceptions.NoProviderError as exc:
            return _Result(None, exc)

    def _write(self, step: inventory_diff.Step) -> _Result:
        uuid, wanted = step.uuid, step.wanted
        generation: int | None = None
        created = False
        inventory_part, traits_part = inventory_diff.parts(step.known)
        try:
            if step.known is None:
                created = self._placement.put_provider(
                    uuid, uuid, confirm=self._confirm
                )
                generation = FIRST_GENERATION if created else None
            if step.inventory:
                generation = self._placement.put_inventory(
                    uuid,
                    wanted.resources,
                    generation=generation,
                    confirm=self._confirm,
                ).generation
                inventory_part = wanted.inventory_part
            if step.traits:
                if wanted.traits or not created:
                    self._placement.put_traits(
                        uuid,
                        wanted.traits,
                        generation=generation if created else None,
                        confirm=self._confirm,
                    )
                traits_part = wanted.traits_part
        except exceptions.NoProviderError:
            raise
        except _REFUSALS as exc:
            return _Result(
                inventory_diff.joined(inventory_part, traits_part),
                exc,
                created,
            )
        return _Result(wanted.digest, created=created)

    def undo(self, uuid: str) -> None:
        """Delete a provider that was created for a record that is gone.

        :raises PlacementError: if Placement does not answer, or the provider
            is in use already.
        """
        self._placement.delete_provider(uuid)
