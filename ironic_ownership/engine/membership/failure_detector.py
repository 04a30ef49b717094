"""Who is dead, and who is only missing: judged by one observer, carefully.

A host that a view lacks may have died. It may also be that the store lost it,
or was restarted empty, or that this very process was cut off. So its fate is
open until this observer has shown that it is a member itself and can still
write, and has looked again after that.

No clock and no IO of its own: it is told what happened, and when. Nothing
here is ever decided by a store that did not answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

_NEVER = float('-inf')


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What an observer thinks of the others at one moment.

    :param settled: whether it has been a member for long enough that who is
        alive would have been seen by now.
    :param present: hosts that were in the last view.
    :param uncertain: hosts that were seen, are missing, and may be alive.
    :param dead: hosts that were seen, and are dead.
    """

    settled: bool = False
    present: frozenset[str] = frozenset()
    uncertain: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()

    def is_dead(self, host: str) -> bool:
        """Tell whether a host that no view has is dead.

        One that was never seen is, as soon as the observer is settled.
        """
        return host in self.dead or (
            self.settled
            and host not in self.present
            and host not in self.uncertain
        )


UNDISPUTED = Judgement(settled=True)
"""For those who judge by the view alone: who is missing is dead."""


class FailureDetector:
    """The judgement of one observer.

    Times are in seconds on a clock that only runs forward. Threading: one
    thread; ``judgement`` may be read by any.

    :param settling_time: seconds after the own join, or after a mass loss,
        for which nobody is declared dead.
    :ivar judgement: what follows from all that was told so far.
    """

    def __init__(self, settling_time: float) -> None:
        self._settling_time = settling_time
        self._settled_at = float('inf')
        self._beat_started = _NEVER
        self._beat_ended = _NEVER
        self._missed_since: dict[str, float] = {}
        self.judgement = Judgement()

    def joined(self, at: float) -> None:
        """Start anew: this observer has become a member.

        Whoever it saw before may be a member of another store by now.
        """
        self._settled_at = at + self._settling_time
        self._beat_started = self._beat_ended = _NEVER
        self._missed_since.clear()
        self.judgement = Judgement()

    def beaten(self, started: float, ended: float) -> None:
        """Note a heartbeat of its own that was accepted."""
        self._beat_started, self._beat_ended = started, ended

    @property
    def wants_beat(self) -> bool:
        """Whether a beat and a look right now would decide about a host."""
        return self.judgement.settled and any(
            since >= self._beat_started
            for since in self._missed_since.values()
        )

    def look(
        self, hosts: Collection[str], started: float, ended: float
    ) -> frozenset[str]:
        """Judge by a view that has this observer in it.

        :param hosts: the others that are alive by that view.
        :param started: when the view was asked for, and ``ended``: when it
            had come.
        :returns: hosts that are dead, and were not before.
        """
        before = self.judgement
        known = before.present | before.uncertain | before.dead
        missing = known.difference(hosts)
        vanished = missing & before.present
        if len(vanished) > 1 and 2 * len(vanished) > len(before.present):
            # The store lost them, or they were all restarted: wait for them.
            self._settled_at = ended + self._settling_time
        for host in known.intersection(hosts):
            self._missed_since.pop(host, None)
        for host in vanished:
            self._missed_since[host] = ended
        settled = started >= self._settled_at
        dead = {
            host
            for host in missing
            if host in before.dead
            or (settled and self._is_proven(host, started))
        }
        for host in dead:
            self._missed_since.pop(host, None)
        self.judgement = Judgement(
            settled, frozenset(hosts), missing - dead, frozenset(dead)
        )
        return self.judgement.dead - before.dead

    def _is_proven(self, host: str, looked: float) -> bool:
        """Tell whether it was missed, then a beat succeeded, then a look."""
        return (
            self._missed_since[host] < self._beat_started
            and self._beat_ended <= looked
        )
