"""Schedule of the refused providers, and of those to compare."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Collection, Iterable

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.contracts.texts import counted
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.engine.worker import back_off

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds until a node is retried; doubled after each refusal."""


_PHASES = 2**32


@dataclasses.dataclass(frozen=True)
class _Refusal:
    step: inventory_diff.Step
    why: str
    times: int
    retry_at: float


@dataclasses.dataclass
class Backoff:
    """Exponential back-off of the refused providers.

    Logged once; refused nodes never delay the reports of others.

    Threading: one thread at a time.
    """

    conditions: Conditions
    clock: Clock = monotonic

    def __post_init__(self) -> None:
        self._refused: dict[str, _Refusal] = {}

    def keep_only(self, steps: Iterable[inventory_diff.Step]) -> None:
        """Forget the nodes that no longer differ."""
        for uuid in self._refused.keys() - {step.uuid for step in steps}:
            del self._refused[uuid]

    def due(
        self, steps: Iterable[inventory_diff.Step]
    ) -> list[inventory_diff.Step]:
        """Return the steps to try now, in the same order."""
        now = self.clock()
        return [
            step
            for step in steps
            if (known := self._refused.get(step.uuid)) is None
            or known.step.wanted.digest != step.wanted.digest
            or known.retry_at <= now
        ]

    def refused(
        self, step: inventory_diff.Step, why: exceptions.PlacementError
    ) -> None:
        """Remember a refusal."""
        known = self._refused.get(step.uuid)
        times = 1
        if known is not None and known.step.wanted == step.wanted:
            times += known.times
        pause = FIRST_PAUSE * back_off(times, LONGEST_PAUSE / FIRST_PAUSE)
        self._refused[step.uuid] = _Refusal(
            step, str(why), times, self.clock() + pause
        )

    def accepted(self, step: inventory_diff.Step) -> None:
        """Forget the refusals of a node."""
        self._refused.pop(step.uuid, None)

    def report(self, without_class: Collection[str] = ()) -> None:
        """Log each change of what is refused, and not reported, once."""
        if self._refused:
            first = self._refused[min(self._refused)]
            noun = 'service' if first.step.name else 'node'
            self.conditions.report(
                'placement refuses',
                'Placement refuses the reports of '
                f'{counted(len(self._refused), noun)}, such as '
                f'{first.step.name or first.step.uuid}: {first.why}',
            )
        else:
            self.conditions.clear(
                'placement refuses', 'Placement accepts all reports again'
            )
        if without_class:
            one = min(without_class)
            self.conditions.report(
                'without class',
                f'{counted(len(without_class), "node")} not reported '
                f'to Placement without a resource class, such as {one}. Set '
                f'it: openstack baremetal node set {one} --resource-class '
                'CLASS',
            )
        else:
            self.conditions.clear(
                'without class', 'every node has a resource class'
            )


class StaggeredSchedule:
    """Schedule of one check of each uuid per interval.

    No state for each uuid: the due time follows from the uuid, so that it is
    the same in every process, and the start of a process makes nothing due.

    Threading: one thread at a time.

    :param interval: seconds between two checks of one uuid; 0 for never.
    """

    def __init__(self, interval: float, clock: Clock = monotonic) -> None:
        self._interval = interval
        self._clock = clock
        self._last = clock()
        self._due: set[str] = set()

    def due(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return the uuids that are due and not done yet.

        :param uuids: all existing ones.
        """
        if self._interval <= 0:
            return frozenset()
        now, before = self._clock(), self._last
        self._last = now
        known = set(uuids)
        self._due &= known
        self._due |= {
            uuid
            for uuid in known
            if self._round(uuid, now) > self._round(uuid, before)
        }
        return frozenset(self._due)

    def done(self, uuid: str) -> None:
        """Mark a uuid as checked."""
        self._due.discard(uuid)

    def _round(self, uuid: str, now: float) -> float:
        phase = zlib.crc32(uuid.encode()) / _PHASES
        return (now / self._interval - phase) // 1
