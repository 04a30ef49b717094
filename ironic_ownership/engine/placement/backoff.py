"""Exponential backoff for nodes whose report Placement refuses.

Logged once; refused nodes never delay the reports of others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.placement import inventory_diff
from ironic_ownership.engine.suggestions import counted

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds until a node is retried; doubled after each refusal."""


@dataclasses.dataclass(frozen=True)
class _Refusal:
    digest: str
    why: str
    times: int
    retry_at: float


@dataclasses.dataclass
class Backoff:
    """The refused nodes, and when each of them is retried.

    Threading: one thread at a time.
    """

    conditions: Conditions
    clock: fence.Clock = fence.monotonic

    def __post_init__(self) -> None:
        self._refused: dict[str, _Refusal] = {}
        self._without_class: list[str] = []

    def keep_only(self, diff: inventory_diff.Diff) -> None:
        """Forget the nodes that no longer differ."""
        behind = {step.uuid for step in diff.steps}
        for uuid in self._refused.keys() - behind:
            del self._refused[uuid]
        self._without_class = diff.without_class

    def due(
        self, steps: Iterable[inventory_diff.Step]
    ) -> list[inventory_diff.Step]:
        """Return the steps to try now, in the same order."""
        now = self.clock()
        return [
            step
            for step in steps
            if (known := self._refused.get(step.uuid)) is None
            or known.digest != step.wanted.digest
            or known.retry_at <= now
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
            step.wanted.digest, str(why), times, self.clock() + pause
        )

    def accepted(self, step: inventory_diff.Step) -> None:
        """Forget the refusals of a node."""
        self._refused.pop(step.uuid, None)

    def report(self) -> int:
        """Log each change once, and return the number of refused nodes."""
        count = len(self._refused)
        if count:
            one = min(self._refused)
            self.conditions.report(
                'placement refuses',
                f'Placement refuses the reports of {counted(count, "node")}, '
                f'such as {one}: {self._refused[one].why}',
            )
        else:
            self.conditions.clear(
                'placement refuses', 'Placement accepts all reports again'
            )
        if self._without_class:
            one = min(self._without_class)
            self.conditions.report(
                'without class',
                f'{counted(len(self._without_class), "node")} not reported '
                f'to Placement without a resource class, such as {one}. Set '
                f'it: openstack baremetal node set {one} --resource-class '
                'CLASS',
            )
        else:
            self.conditions.clear(
                'without class', 'every node has a resource class'
            )
        return count
