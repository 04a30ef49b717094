"""Log of the heartbeats that one process has seen, on its own clock.

The servers of a cluster have a clock each, and so has a promoted standby. A
heartbeat is written by the clock of one server and read by that of another
one. So a process that reads the members again and again does not rely on
them: a member whose heartbeat it has seen is alive for ``member_ttl`` from
then. That is never too early, because the member stops acting ``member_ttl``
after the heartbeat at the latest.

A heartbeat from the future of the server that answers shows that the clocks
differ. Pure: no IO; receives heartbeats and times.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterable

from ironic_ownership.contracts import model
from ironic_ownership.db import heartbeats

_Key = tuple[str, str, float]
"""Host, incarnation and time of one membership."""

_NEVER = float('-inf')

_SAMPLES = 8
"""Heartbeats of each member of which the largest lead counts: each shows too
little by the time until it was read."""


class HeartbeatLog:
    """Last heartbeats of all members, as one process has seen them.

    Threading: any thread.

    :param member_ttl: seconds for which a heartbeat counts.
    """

    def __init__(self, member_ttl: float) -> None:
        self._ttl = member_ttl
        self._lock = threading.Lock()
        self._read_at = _NEVER
        self._stamps: dict[_Key, float] = {}
        self._seen_at: dict[_Key, float] = {}
        self._leads: dict[_Key, collections.deque[float]] = {}

    def view(
        self,
        found: Iterable[heartbeats.Heartbeat],
        started: float,
        ended: float,
    ) -> model.View:
        """Return the members that are alive.

        The clock of the server decides alone about a member of which this
        process has seen no heartbeat yet, or if the last call is too long ago
        to know when the heartbeat was.

        :param found: the last heartbeat of each member.
        :param started: when they were requested, in seconds on a clock that
            only runs forward.
        :param ended: when they were received.
        """
        with self._lock:
            fresh = started - self._read_at <= self._ttl / 2
            left: dict[model.Member, float] = {}
            beaten_at = {}
            for beat in found:
                beaten_at[beat.member.incarnation] = (
                    beat.expires_at - self._ttl
                )
                seen_at = self._last_seen(beat, ended, fresh=fresh)
                left[beat.member] = max(
                    beat.left, seen_at + self._ttl - started
                )
            self._forget(left)
            self._read_at = ended
            ahead = self._ahead()
        alive = {member: left[member] for member in left if left[member] > 0}
        return model.View.of(
            alive, min(alive.values(), default=None), ahead, beaten_at
        )

    def _last_seen(
        self, beat: heartbeats.Heartbeat, now: float, *, fresh: bool
    ) -> float:
        key = _key(beat.member)
        before, self._stamps[key] = self._stamps.get(key), beat.expires_at
        if before != beat.expires_at:
            samples = collections.deque[float](maxlen=_SAMPLES)
            self._leads.setdefault(key, samples).append(beat.left - self._ttl)
            # Another time is another heartbeat. It may be an earlier one,
            # by the clock of another server.
            seen = before is not None and fresh
            self._seen_at[key] = now if seen else _NEVER
        return self._seen_at[key]

    def _ahead(self) -> dict[str, float]:
        leads: dict[str, float] = {}
        for (host, *_), samples in self._leads.items():
            leads[host] = max(*samples, leads.get(host, 0.0))
        return {host: lead for host, lead in leads.items() if lead > 0}

    def _forget(self, found: Iterable[model.Member]) -> None:
        kept = set(map(_key, found))
        for known in (self._stamps, self._seen_at, self._leads):
            for key in known.keys() - kept:
                del known[key]


def _key(member: model.Member) -> _Key:
    return member.host, member.incarnation, member.joined_at
