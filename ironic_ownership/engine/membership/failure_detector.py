"""Detectors of failures: of dead hosts, lost commits and clocks that differ.

A host that is missing from a view may have died. It is also possible that the
store lost it, or was restarted empty, or that this process was cut off. So a
missing host is only suspected until this observer has proved that it is a
member itself and can still write, and has then read the view again.

The failure detector has no clock, and none does IO: they receive events and
their times. An error of the store never leads to a conclusion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set

from ironic_ownership.contracts import model
from ironic_ownership.contracts.calls import Clock
from ironic_ownership.engine.conditions import CLOCK_SKEW, Conditions

_NEVER = float('-inf')

_STEADY = 2.0
"""Seconds by which a lead may change without another report."""

Entry = tuple[str, object]
"""An entry in the store: the host, and what no later one of it shares."""


@dataclasses.dataclass(frozen=True)
class Liveness:
    """The state of all other hosts, as one observer sees it.

    :param settled: whether the observer has been a member for long enough to
        have seen every live host.
    :param present: hosts in the last view.
    :param suspect: hosts that were seen, are missing, and may be alive.
    :param dead: hosts that were seen, and are dead.
    :param heartbeat_ages: of the dead, when they were declared dead: the
        seconds since the last heartbeat, at least.
    """

    settled: bool = False
    present: frozenset[str] = frozenset()
    suspect: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    heartbeat_ages: Mapping[str, float] = dataclasses.field(
        default_factory=dict
    )

    def cause_of_death(self, host: str) -> str:
        """Return the observation behind :meth:`is_dead`, for operators."""
        age = self.heartbeat_ages.get(host)
        if age is None:
            return (
                'no heartbeat of its active process since the observer joined'
            )
        return f'last heartbeat at least {age:.1f} s ago'

    def without(self, hosts: frozenset[str]) -> Liveness:
        """Return the state in which some hosts are dead as well."""
        return dataclasses.replace(
            self,
            present=self.present - hosts,
            suspect=self.suspect - hosts,
            dead=self.dead | hosts,
        )

    def is_dead(self, host: str) -> bool:
        """Tell whether a host that is in no view is dead.

        A host that was never seen is, as soon as the observer is settled.
        """
        return host in self.dead or (
            self.settled
            and host not in self.present
            and host not in self.suspect
        )


class FailureDetector:
    """The failure detector of one observer.

    Times are in seconds on a clock that only runs forward. Threading: one
    thread; ``liveness`` may be read by any.

    :param settling_time: seconds after the own join, or after a mass loss,
        in which no host is declared dead: the time for which a heartbeat
        counts.
    :ivar liveness: the result of all events so far.
    """

    def __init__(self, settling_time: float) -> None:
        self._settling_time = settling_time
        self.joined(float('inf'))  # not yet

    def joined(self, at: float) -> None:
        """Reset: this observer has become a member.

        Hosts seen before may be members of another store by now.
        """
        self._settled_at = at + self._settling_time
        self._beat_started = self._beat_ended = _NEVER
        self._missed_since: dict[str, float] = {}
        self._entries: Set[Entry] = frozenset()
        self.liveness = Liveness()

    def beat_accepted(self, started: float, ended: float) -> None:
        """Record a heartbeat of its own that was accepted."""
        self._beat_started, self._beat_ended = started, ended

    @property
    def wants_beat(self) -> bool:
        """True if a beat and a poll right now would decide about a host."""
        return self.liveness.settled and any(
            since >= self._beat_started
            for since in self._missed_since.values()
        )

    def observe(
        self, entries: Set[Entry], started: float, ended: float
    ) -> frozenset[str]:
        """Evaluate a view that contains this observer.

        :param entries: those of the other hosts in it.
        :param started: time of the request for the view.
        :param ended: time of the response.
        :returns: hosts that are dead, and were not before.
        """
        before, hosts = self.liveness, {host for host, _ in entries}
        known = before.present | before.suspect | before.dead
        missing = known.difference(hosts)
        vanished = missing & before.present
        # Those that have joined again in the meantime as well.
        lost = {host for host, _ in self._entries - entries}
        self._entries = entries
        if len(lost) > 1 and 2 * len(lost) > len(before.present):
            # The store lost them, or they all restarted: wait for them.
            self._settled_at = ended + self._settling_time
        for host in known.intersection(hosts):
            self._missed_since.pop(host, None)
        for host in vanished:
            # By the response: a beat that began before it proves nothing.
            self._missed_since[host] = ended
        # By the request, because the view may be as old.
        settled = started >= self._settled_at
        dead = {
            host
            for host in missing
            if host in before.dead
            or (settled and self._is_proven(host, started))
        }
        ages = {
            host: before.heartbeat_ages[host]
            for host in dead
            if host in before.heartbeat_ages
        }
        for host in dead & self._missed_since.keys():
            # It was missed when its last heartbeat had expired.
            missing_for = ended - self._missed_since.pop(host)
            ages[host] = self._settling_time + missing_for
        self.liveness = Liveness(
            settled, frozenset(hosts), missing - dead, frozenset(dead), ages
        )
        return self.liveness.dead - before.dead

    def _is_proven(self, host: str, polled: float) -> bool:
        # A beat, and then a poll, have to follow the first miss.
        return (
            self._missed_since[host] < self._beat_started
            and self._beat_ended <= polled
        )


class UnregisteredMembers:
    """Time for which each host has had members of which none registered.

    A member that is not the active process on record may be a standby that is
    about to register, or an entry that something else has written into the
    store. The first needs a known time, so the second keeps a host from being
    declared dead for no longer than that.

    Threading: any thread.

    :param patience: seconds for which a host may be without a registered
        process: a new one settles for one ``member_ttl``, and then registers.
    """

    def __init__(self, patience: float, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._since: Mapping[tuple[str, int], float] = {}

    @property
    def awaited(self) -> bool:
        """True if a member may have registered since the last call."""
        now = self._clock()
        return any(now - t < self._patience for t in self._since.values())

    def overdue(
        self, services: Mapping[str, model.Service], view: model.View
    ) -> frozenset[str]:
        """Return the hosts that have been so for too long.

        :param view: with the active process of each host, if it is alive.
        """
        now, before = self._clock(), self._since
        self._since = {
            key: before.get(key, now)
            for member in view.members
            if (row := services.get(member.host)) is None
            or not row.is_served_by(member)
            # Another epoch is a registration or a fence in the meantime.
            for key in [(member.host, row.epoch if row else 0)]
        }
        return frozenset(
            host
            for (host, _), since in self._since.items()
            if now - since >= self._patience
        )


class LostCommits:
    """Detector of services whose rows are older than they were.

    The standby of an asynchronous replication may be promoted without the
    last commits of its primary, and a restored backup lacks all that came
    later. Each transaction raises the revision of every service from which it
    decides, so a process that remembers the greatest ones sees when one has
    become smaller.

    Threading: the refresh thread only.
    """

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def observe(self, services: Mapping[str, model.Service]) -> dict[str, int]:
        """Return how many changes were lost, by service; empty if none.

        A service whose row is missing was deleted, or lost as well. Its next
        row begins with a greater revision.
        """
        revisions = {host: row.revision for host, row in services.items()}
        lost = {
            host: self._newest[host] - revision
            for host, revision in revisions.items()
            if revision < self._newest.get(host, 0)
        }
        self._newest = revisions
        return lost


class ClockSkew:
    """Detector of servers of the store that are ahead of the own one.

    Each service reads the members through its own server. Heartbeats from the
    future of that server were accepted by one whose clock is ahead. So of two
    servers that services use, one always shows the difference.

    Threading: the refresh thread only.

    :param tolerated: seconds that are not reported.
    """

    def __init__(
        self, host: str, tolerated: float, conditions: Conditions
    ) -> None:
        self._host = host
        self._tolerated = tolerated
        self._conditions = conditions
        self._reported: dict[str, float] = {}

    def observe(self, view: model.View) -> None:
        """Report the servers that are ahead."""
        self._reported = {
            host: self._steady(host, lead)
            for host, lead in sorted(view.ahead.items())
            if lead > self._tolerated
        }
        if not self._reported:
            self._conditions.clear(
                CLOCK_SKEW, 'the clocks of the database servers agree again'
            )
            return
        text = ', '.join(
            f'that of {host} is {lead:.1f} s ahead of that of {self._host}'
            for host, lead in self._reported.items()
        )
        self._conditions.report(
            CLOCK_SKEW,
            f'the clocks of the database servers differ: {text}; tolerated '
            f'are {self._tolerated:g} s',
            code=CLOCK_SKEW,
        )

    def _steady(self, host: str, lead: float) -> float:
        """Return the lead as reported before, unless it really changed.

        Each measurement differs a little; no operator wants a warning and
        no database a write for that.
        """
        before = self._reported.get(host, lead)
        return before if abs(lead - before) < _STEADY else lead
