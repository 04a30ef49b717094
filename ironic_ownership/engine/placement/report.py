"""Report to Placement: the wanted providers, written where they differ.

A service that owns its nodes has a provider for each of them. Under an
assigner that leaves free nodes unowned, any service may get any node: then
each service has one provider with the sums of the nodes that it admits.
Policies change without a restart; a service that owns its nodes again deletes
its sums, so that no capacity is offered twice.

Writes only with a valid fence, and only nodes whose record names this
service. What Placement accepted is recorded immediately, so that the next
process continues from there. A refused node does not delay others.

Source: multiple-compute-hosts, "Proposed change" and "Alternatives".
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Collection, Container, Iterable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.placement import FIRST_GENERATION
from ironic_ownership.contracts.records import Change, NodeFilter, Report
from ironic_ownership.engine import availability
from ironic_ownership.engine.gates import batches
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement import inventory_diff, schedule
from ironic_ownership.engine.ports import Placement

LOG = log.getLogger(__name__)

BATCH = 50
"""Nodes between two reads of the records: few, so that accepted reports are
recorded soon, and nodes that changed owner are no longer written."""

PROGRESS = 1000
"""Nodes between two log lines about a long report."""

_REFUSALS = (
    exceptions.ProviderBusyError,
    exceptions.ProviderInUseError,
    exceptions.PlacementRefusedError,
    exceptions.NoProviderError,
)


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


@dataclasses.dataclass(eq=False)
class PlacementReport:
    """Reports the nodes of one service, or their sums.

    Threading: :meth:`withdraw` and :meth:`listed` from any thread, in the
    order of the refreshes; the rest from one.

    :param placement: a client that no other thread uses.
    :param compare_interval: seconds between two comparisons of one provider
        with its wanted state; 0 for never.
    """

    context: ServiceContext
    placement: Placement
    compare_interval: float = 0.0

    def __post_init__(self) -> None:
        context = self.context
        self._host, self._fence = context.host, context.fence
        self._records = context.ports.records
        self.placement.confirm = self._fence.epoch
        self._backoff = schedule.Backoff(context.conditions, context.clock)
        self._schedule = schedule.StaggeredSchedule(
            self.compare_interval, context.clock
        )
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._withdrawn: set[str] = set()
        self._service = inventory_diff.service_uuid(self._host)
        self._sums: str | None = None
        self._sums_are_gone = False

    def withdraw(self, uuid: str) -> None:
        """Stop reporting a node until a refresh lists it again.

        Waits for a write in progress. Its provider can be deleted afterwards
        and is not created again.
        """
        with self._lock:
            self._withdrawn.add(uuid)
        with self._writing:
            return  # no write of it is in progress

    def listed(self, nodes: Container[str]) -> None:
        """Report nodes again that a refresh has listed."""
        with self._lock:
            self._withdrawn -= {u for u in self._withdrawn if u in nodes}

    def report(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        """Report the providers that are out of date, until interrupted.

        :param interrupted: whether a newer refresh waits to be reported.
        :raises FencedError: if this service may not act.
        :raises PlacementError: if Placement does not answer any request.
        :raises RecordsError: if the records can't be read or written.
        :raises PluginFaultError: if a policy fails.
        """
        if seen.policies.releases_free:
            self._sums_are_gone = False
            self._report_sums(seen)
            return
        self._report_nodes(seen, interrupted)
        if not self._sums_are_gone and not interrupted():
            self._delete_sums()

    def _report_nodes(
        self,
        seen: refresh_result.RefreshResult,
        interrupted: Callable[[], bool],
    ) -> None:
        records = self._read(
            lambda: self._records.compute_nodes(NodeFilter(host=self._host))
        )
        diff = inventory_diff.compare(
            seen.nodes.values(), records, self._schedule.due(records)
        )
        self._backoff.keep_only(diff.steps)
        steps = self._backoff.due(diff.steps)
        written = 0
        for batch in batches([*steps, *diff.comparisons], BATCH):
            accepted = self._write(batch)
            written += accepted
            if written % PROGRESS < accepted and written < len(steps):
                LOG.info(
                    'Placement: %s of %s nodes reported', written, len(steps)
                )
            if interrupted():
                break  # a newer refresh may have more urgent changes
        self._backoff.report(diff.without_class)
        if written:
            LOG.info(
                'Placement: %s nodes reported, %s remaining',
                written,
                len(diff.steps) - written,
            )

    def _read(
        self, read: Callable[[], Iterable[model.ComputeNode]]
    ) -> dict[str, model.ComputeNode]:
        """Read records; forget withdrawn nodes that have none any more."""
        with self._lock:
            before = set(self._withdrawn)
        records = {record.uuid: record for record in read()}
        with self._lock:
            self._withdrawn -= before - records.keys()
        return records

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
            except (exceptions.PlacementError, exceptions.FencedError) as exc:
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
        if error is not None:
            raise error
        return complete

    def _write_one(self, step: inventory_diff.Step) -> _Result | None:
        with self._writing:
            with self._lock:
                if step.uuid in self._withdrawn:
                    return None
            return self._bring(step)

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
            self.placement.delete_provider(uuid)

    def _bring(self, step: inventory_diff.Step) -> _Result:
        """Bring the provider of a node up to date.

        :raises PlacementError: if Placement does not answer any request.
        :raises FencedError: if the right to write was lost.
        """
        # Deleted by another client, with its inventory and traits.
        again = dataclasses.replace(step, known=None)
        with contextlib.suppress(exceptions.NoProviderError):
            return self._write_parts(step)
        try:
            return self._write_parts(again)
        except exceptions.NoProviderError as exc:
            return _Result(None, exc)

    def _write_parts(self, step: inventory_diff.Step) -> _Result:
        uuid, wanted = step.uuid, step.wanted
        generation: int | None = None
        created = False
        inventory_part, traits_part = inventory_diff.parts(step.known)
        try:
            if step.known is None:
                created = self.placement.put_provider(uuid, step.name or uuid)
                generation = FIRST_GENERATION if created else None
            if step.inventory:
                generation = self.placement.put_inventory(
                    uuid, wanted.resources, generation=generation
                ).generation
                inventory_part = wanted.inventory_part
            if step.traits:
                if wanted.traits or not created:
                    self.placement.put_traits(
                        uuid,
                        wanted.traits,
                        generation=generation if created else None,
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

    def _report_sums(self, seen: refresh_result.RefreshResult) -> None:
        # Also checks the fence in the records, which may be newer.
        self._records.apply(self._host, self._fence.epoch(), ())
        wanted = self._wanted_sums(seen)
        step = inventory_diff.Step(
            self._service, wanted, self._sums, name=self._host
        )
        steps = [step] if wanted.digest != self._sums else []
        self._backoff.keep_only(steps)
        for step in self._backoff.due(steps):
            result = self._bring(step)
            self._sums = result.digest
            if result.refusal is not None:
                self._backoff.refused(step, result.refusal)
                continue
            self._backoff.accepted(step)
            LOG.info(
                'Placement: capacity reported, %s',
                ', '.join(
                    f'{name}: {r.total}, {r.reserved} reserved'
                    for name, r in wanted.resources.items()
                )
                or 'none',
            )
        self._backoff.report()

    def _wanted_sums(
        self, seen: refresh_result.RefreshResult
    ) -> inventory_diff.Wanted:
        records = self._read(
            lambda: self._records.in_reach(self._host, seen.policies.scope)
        )
        return inventory_diff.sums(
            (
                node,
                record is not None and record.host == self._host,
                _why(node, record, seen.conductors),
            )
            for node in filter(seen.policies.admits, seen.nodes.values())
            for record in [records.get(node.uuid)]
        )

    def _delete_sums(self) -> None:
        self._sums = None
        try:
            if self.placement.has_provider(self._service):
                self._fence.epoch()
                self.placement.delete_provider(self._service)
        except exceptions.ProviderInUseError as exc:
            self.context.conditions.report(
                'capacity',
                f'the capacity reported earlier stays in Placement: {exc}',
            )
            return
        self._sums_are_gone = True
        self.context.conditions.clear(
            'capacity', 'the capacity reported earlier is deleted'
        )


def _why(
    node: model.Node,
    record: model.ComputeNode | None,
    conductors: availability.Conductors | None,
) -> str | None:
    if record is not None and record.host is not None:
        if record.unavailable:
            return record.unavailable
        if record.instance_uuid:
            # Its service has not evaluated it since it reserved it.
            return reasons.Unavailable.RESERVED.value
    code = availability.evaluate(node, conductors).code
    return None if code is None else code.value
