"""Check of the answers: no service may act on a node that is not its own.

A permission is right if the service owned the node, with the right to act,
when the answer was given. A process that was frozen, or cut off from the
records, between its last read and the answer could not know better: that
time does not count. What remains may be as long as one read takes.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

from benchmarks.nemesis.answers import Answer
from benchmarks.nemesis.history import History
from benchmarks.nemesis.journal import Journal

SLACK = 1.5
"""Seconds between the last read of a guard and its answer, at most, on a
machine whose processors are busy."""

_STANDS_STILL = frozenset(('freeze', 'silence', 'cut', 'slow'))
_SERVERS = frozenset(('server-freeze', 'server-stop', 'server-kill'))
_LONG_AGO = float('-inf')


class Permissions:
    """Compares answers with the history.

    :ivar longest_overrun: seconds between the loss of a node, or of the
        right to act, and the last permission for it.
    :ivar checked: how many permissions were checked.
    """

    def __init__(self, history: History, journal: Journal) -> None:
        self._history = history
        self._journal = journal
        self.longest_overrun = 0.0
        self.checked = 0

    def wrong(self, answers: Iterable[Answer]) -> list[tuple[Answer, str]]:
        """Return the answers that should have been refusals, with reasons."""
        found = []
        for answer in answers:
            self.checked += 1
            reason = self._check(answer)
            if reason:
                found.append((answer, reason))
        return found

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
            excused = self._excused(answer, until)
            self.longest_overrun = max(self.longest_overrun, overrun - excused)
            if overrun - excused > SLACK:
                return (
                    f'{answer.host} {what} for {overrun:.2f} s, of which '
                    f'{excused:.2f} s excuse it'
                )
        return None

    def _owned_until(self, answer: Answer) -> float:
        changes = self._history.owned_at.get(answer.node, [])
        return _last(
            [(at, owner == answer.host) for at, owner in changes], answer.end
        )

    def _right_until(self, answer: Answer) -> float:
        return _last(self._history.right_at.get(answer.host, []), answer.end)

    def _excused(self, answer: Answer, since: float) -> float:
        """Return the seconds in which the process could not read."""
        targets = (answer.name, f'{answer.name}/records')
        excused = [
            self._journal.duration(_STANDS_STILL, target, since, answer.end)
            for target in targets
        ]
        excused.append(
            self._journal.duration(_SERVERS, 'records', since, answer.end)
        )
        return max(excused)


def _last(changes: Sequence[tuple[float, bool]], at: float) -> float:
    """Return the last moment, until ``at``, at which something was true."""
    number = bisect.bisect_right(changes, at, key=lambda change: change[0])
    if number and changes[number - 1][1]:
        return at
    for index in range(number - 1, 0, -1):
        if changes[index - 1][1]:
            return changes[index][0]
    return _LONG_AGO
