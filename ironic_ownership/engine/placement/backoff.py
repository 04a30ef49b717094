"""The nodes of which Placement refuses something: tried again, but seldom.

Say it once, and never let these nodes stand in the way of others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.placement import inventory_diff

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds until a node is tried again; twice as long after each refusal."""


@dataclasses.dataclass(frozen=True)
class _Refusal:
    digest: str
    why: str
    times: int
    again_at: float


class Backoff:
    """What was refused, of which node, and when it is tried again.

    Threading: one thread at a time.
    """

    def __init__(
        self,
        conditions: Conditions,
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._conditions = conditions
        self._clock = clock
        self._refused: dict[str, _Refusal] = {}
        self._without_class: list[str] = []

    def keep_only(self, made: inventory_diff.Plan) -> None:
        """Forget the nodes that are not behind any more."""
        context = {step.uuid for step in made.steps}
        for uuid in self._refused.keys() - context:
            del self._refused[uuid]
        self._without_class = made.without_class

    def due(
        self, steps: Iterable[inventory_diff.Step]
    ) -> list[inventory_diff.Step]:
        """Return what is to be tried now, in the same order."""
        now = self._clock()
        return [
            step
            for step in steps
            if (known := self._refused.get(step.uuid)) is None
            or known.digest != step.wanted.digest
            or known.again_at <= now
        ]

    def refused(
        self, step: inventory_diff.Step, why: exceptions.PlacementError
    ) -> None:
        """Remember a refusal."""
        before = self._refused.get(step.uuid)
        same = before is not None and before.digest == step.wanted.digest
        times = before.times + 1 if before is not None and same else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times - 1, 9))
        self._refused[step.uuid] = _Refusal(
            step.wanted.digest, str(why), times, self._clock() + pause
        )

    def accepted(self, step: inventory_diff.Step) -> None:
        """Forget what was refused of a node before."""
        self._refused.pop(step.uuid, None)

    def say(self) -> int:
        """Tell the operator, once.

        :returns: the number of nodes of which something is refused.
        """
        count = len(self._refused)
        if count:
            one = min(self._refused)
            self._conditions.report(
                'placement refuses',
                f'Placement refuses what {count} nodes report, as '
                f'{one}: {self._refused[one].why}',
            )
        else:
            self._conditions.clear(
                'placement refuses', 'Placement accepts every report again'
            )
        self._say_without_class()
        return count

    def _say_without_class(self) -> None:
        if self._without_class:
            one = min(self._without_class)
            self._conditions.report(
                'without class',
                f'{len(self._without_class)} nodes have no resource class '
                f'and so nothing in Placement, as {one}. Set it: openstack '
                f'baremetal node set {one} --resource-class CLASS',
            )
        else:
            self._conditions.clear(
                'without class', 'every node has a resource class'
            )
