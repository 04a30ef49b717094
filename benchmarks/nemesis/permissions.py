"""Check of the acts: no service may act on a node that is not its own.

An act is right if the service owned the node at that moment, and had the
right to act. A permission may be older by a heartbeat, so an act may come that
much after the end of either. Where commits were lost it is unknown what they
allowed: such acts are only counted.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

from benchmarks.nemesis.answers import Answer
from benchmarks.nemesis.history import History
from benchmarks.nemesis.journal import LOSS, Journal

MARGIN = 0.5
"""Seconds that a commit may take, on a machine whose processors are busy."""

_LONG_AGO = float('-inf')


class Permissions:
    """Compares acts with the history.

    :param longest: seconds for which a permission counts.
    :param journal: names the times at which commits were lost.
    :ivar longest_overrun: seconds between the loss of a node, or of the
        right to act, and the last permission for it.
    :ivar checked: how many permissions were checked.
    :ivar unknown: how many were not, because commits were lost.
    """

    def __init__(
        self, history: History, longest: float, journal: Journal
    ) -> None:
        self._history = history
        self._journal = journal
        self._limit = longest + MARGIN
        self.longest_overrun = 0.0
        self.checked = 0
        self.unknown = 0

    def wrong(self, answers: Iterable[Answer]) -> list[tuple[Answer, str]]:
        """Return the answers that should have been refusals, with reasons."""
        found = []
        for answer in answers:
            if self._is_lost(answer):
                self.unknown += 1
                continue
            self.checked += 1
            reason = self._check(answer)
            if reason:
                found.append((answer, reason))
        return found

    def _is_lost(self, answer: Answer) -> bool:
        entries = self._journal.overlapping(
            answer.end - self._limit, answer.end
        )
        return any(entry.kind == LOSS for entry in entries)

    def _check(self, answer: Answer) -> str | None:
        ends = [
            ('does not own the node', self._owned_until(answer)),
            ('is fenced', self._right_until(answer)),
        ]
        for what, until in ends:
            if until >= answer.end:
                continue
            if until == _LONG_AGO:
                return f'{answer.host} {what}, and never did'
            overrun = answer.end - until
            self.longest_overrun = max(self.longest_overrun, overrun)
            if overrun > self._limit:
                return f'{answer.host} {what} for {overrun:.2f} s'
        return None

    def _owned_until(self, answer: Answer) -> float:
        changes = self._history.owned_at.get(answer.node, [])
        return _last(
            [(at, owner == answer.host) for at, owner in changes], answer.end
        )

    def _right_until(self, answer: Answer) -> float:
        return _last(self._history.right_at.get(answer.host, []), answer.end)


def _last(changes: Sequence[tuple[float, bool]], at: float) -> float:
    """Return the last moment, until ``at``, at which something was true."""
    number = bisect.bisect_right(changes, at, key=lambda change: change[0])
    if number and changes[number - 1][1]:
        return at
    for index in range(number - 1, 0, -1):
        if changes[index - 1][1]:
            return changes[index][0]
    return _LONG_AGO
