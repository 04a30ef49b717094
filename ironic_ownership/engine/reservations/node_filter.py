"""Fast filter of many nodes by successive conditions, with counts.

Independent of the conditions. Fast because equal nodes are evaluated once, and
are found again without running Python code for each node.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Iterable

from ironic_ownership.contracts import model

Key = Callable[[Iterable[model.Node]], Iterable[Hashable]]
"""Returns a key for each node; nodes with equal keys are evaluated once."""


class NodeFilter:
    """The remaining nodes, and the number that each condition removed.

    :ivar nodes: the remaining ones.
    :ivar examined: number of nodes at first.
    :ivar removed: number by condition, in the order of the conditions.
    """

    def __init__(self, nodes: Iterable[model.Node]) -> None:
        self.nodes = list(nodes)
        self.examined = len(self.nodes)
        self.removed: dict[str, int] = {}

    def replace(self, condition: str, kept: list[model.Node]) -> None:
        """Continue with the nodes that fulfil a condition."""
        if len(kept) < len(self.nodes):
            self._count(condition, len(self.nodes) - len(kept))
            self.nodes = kept

    def keep(self, condition: str, fits: Callable[[model.Node], bool]) -> None:
        """Keep the nodes that fulfil a condition."""
        self.replace(condition, list(filter(fits, self.nodes)))

    def filter(
        self,
        key_of: Key,
        evaluate: Callable[[model.Node], str | None],
    ) -> None:
        """Evaluate one node of each key, and keep those that fit.

        Errors of ``key_of`` are raised before anything has changed.

        :param evaluate: returns the condition that a node fails, or ``None``.
        """
        one_of_each = dict(zip(key_of(self.nodes), self.nodes, strict=True))
        failed = {key: evaluate(node) for key, node in one_of_each.items()}
        if not any(failed.values()):
            return
        results = [failed[key] for key in key_of(self.nodes)]
        counts = collections.Counter(results)
        del counts[None]
        for condition in sorted(filter(None, counts)):
            self._count(str(condition), counts[condition])
        self.nodes = [
            node
            for node, result in zip(self.nodes, results, strict=True)
            if result is None
        ]

    def _count(self, condition: str, more: int) -> None:
        self.removed[condition] = self.removed.get(condition, 0) + more
