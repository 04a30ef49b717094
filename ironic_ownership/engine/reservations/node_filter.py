"""Sift very many nodes by one condition after the other, and count.

The conditions are not known here. What is known is how to be quick: nodes
that are alike are judged once, and found again without running Python code
for each of them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Iterable

from ironic_ownership.contracts import model

Alike = Callable[[Iterable[model.Node]], Iterable[Hashable]]
"""Gives for each of some nodes what is equal for nodes that are alike."""


class Sieve:
    """The nodes that are left, and how many went why.

    :ivar nodes: those that are left.
    :ivar examined: how many there were at first.
    :ivar removed: how many each condition removed, in the order of the
        conditions.
    """

    def __init__(self, nodes: Iterable[model.Node]) -> None:
        self.nodes = list(nodes)
        self.examined = len(self.nodes)
        self.removed: dict[str, int] = {}

    def only(self, condition: str, kept: list[model.Node]) -> None:
        """Go on with what one condition left."""
        if len(kept) < len(self.nodes):
            self._count(condition, len(self.nodes) - len(kept))
            self.nodes = kept

    def keep(self, condition: str, fits: Callable[[model.Node], bool]) -> None:
        """Keep the nodes that fulfil a condition."""
        self.only(condition, list(filter(fits, self.nodes)))

    def sift(
        self,
        alike: Alike,
        judge: Callable[[model.Node], str | None],
    ) -> None:
        """Judge one of the nodes that are alike, and keep those that fit.

        What ``alike`` raises comes out before anything has changed.

        :param judge: the condition that a node misses; ``None`` if none.
        """
        one_of_each = dict(zip(alike(self.nodes), self.nodes, strict=True))
        missed = {key: judge(node) for key, node in one_of_each.items()}
        if not any(missed.values()):
            return
        verdicts = [missed[key] for key in alike(self.nodes)]
        counts = collections.Counter(verdicts)
        del counts[None]
        for condition in sorted(filter(None, counts)):
            self._count(str(condition), counts[condition])
        self.nodes = [
            node
            for node, verdict in zip(self.nodes, verdicts, strict=True)
            if verdict is None
        ]

    def _count(self, condition: str, more: int) -> None:
        self.removed[condition] = self.removed.get(condition, 0) + more
