"""Conditions of the loops of a service: last success, last error, since when.

A service stores them with its records, so that every process can show what
keeps it from its work. A loop is a thread of the host process, or a step of
one that fails on its own.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable

from ironic_ownership.contracts.texts import DescribedEnum


class Loop(DescribedEnum):
    """The loops of a service."""

    START = 'start', 'wait for database and Ironic before the service joins'
    HEARTBEAT = 'heartbeat', 'stay a member, and read the other members'
    EPOCH = 'epoch', 'poll the own right to write'
    REFRESH = 'refresh', 'compare the records with Ironic, and correct them'
    TAKE_OVER = 'take-over', 'claim the free nodes of dead services'
    PLACEMENT = 'placement', 'report nodes to Placement'
    RESERVATIONS = 'reservations', 'settle unfinished reservations'
    CREDENTIAL = 'credential', 'read all of Ironic that the work needs'
    SOURCES = 'sources', 'read what the policies take from elsewhere'
    NOTIFICATIONS = 'notifications', 'send the events to the message broker'
    ORDERS = (
        'standing-orders',
        'move deployed nodes of dead services as ordered',
    )
    ENFORCEMENT = 'enforcement', 'have its changes admitted by Ironic'
    COMMITS = 'commits', 'notice commits that the database has lost'
    CLOCKS = 'clocks', 'compare the clocks of the database servers'


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """The condition of one loop.

    :param loop: one of :class:`Loop`, or of a newer release.
    :param succeeded_at: time of the last success, in seconds on the clock of
        the holder; ``None`` before the first one.
    :param code: stable code of the error; ``None`` without an error.
    :param error: the message; empty without an error.
    :param since: time since which the loop fails, without interruption.
    :param ended: whether its thread has ended.
    :param note: what waits although the loop works, in words.
    :param took: seconds that the last success took, where they are known.
    :param did: what it did then, in words, where that is known.
    """

    loop: str
    succeeded_at: float | None = None
    code: str | None = None
    error: str = ''
    since: float | None = None
    ended: bool = False
    took: float | None = None
    note: str = ''
    did: str = ''

    @property
    def began_at(self) -> float | None:
        """Time at which the last success began."""
        at = self.succeeded_at
        return None if at is None else at - (self.took or 0.0)

    @property
    def fails(self) -> bool:
        """True if the loop does not do its work."""
        return self.code is not None or self.ended

    def shifted(self, seconds: float) -> Condition:
        """Return it with times on another clock."""
        at, since = self.succeeded_at, self.since
        return dataclasses.replace(
            self,
            succeeded_at=None if at is None else at + seconds,
            since=None if since is None else since + seconds,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ConditionReport:
    """Report of one process on its loops, as stored.

    :param interval: seconds after which the process reports again, even
        without a change: that of its refreshes. 0 after its stop.
    :param reported_at: in seconds since the epoch by the database's clock,
        as are the times of the conditions.
    :param age: seconds since then, when it was read; less than 0 if that
        clock was set back.
    """

    host: str
    incarnation: str
    interval: float
    conditions: tuple[Condition, ...] = ()
    reported_at: float = 0.0
    age: float = 0.0

    @property
    def now(self) -> float:
        """The time at which it was read."""
        return self.reported_at + self.age

    @property
    def is_outdated(self) -> bool:
        """True if a report is missing: the process can't write, or hangs."""
        return self.has_ended or self.age > 2 * self.interval + ALLOWANCE

    @property
    def has_ended(self) -> bool:
        """True if the process has stopped: it reports no more."""
        return self.interval <= 0

    @property
    def is_overdue(self) -> bool:
        """True if another process of the host may report instead."""
        # One from the future would stay until the clock has caught up.
        return self.has_ended or abs(self.age) > self.interval + ALLOWANCE

    @property
    def failing(self) -> tuple[Condition, ...]:
        """The conditions of the loops that fail."""
        return tuple(one for one in self.conditions if one.fails)

    def of(self, loop: Loop) -> Condition | None:
        """Return the condition of a loop, if the process has reported it."""
        found = (one for one in self.conditions if one.loop == loop)
        return next(found, None)


ALLOWANCE = 10.0
"""Seconds that a report may be late: a write that waits for the database."""


def to_json(conditions: Iterable[Condition]) -> str:
    """Return conditions as text, for the records."""
    return json.dumps(
        [dataclasses.asdict(one) for one in conditions], sort_keys=True
    )


def from_json(text: str) -> tuple[Condition, ...]:
    """Read conditions; fields of a newer release are ignored.

    :returns: none if the text can't be read: another release may write it.
    """
    known = {field.name for field in dataclasses.fields(Condition)}
    try:
        return tuple(
            Condition(**{k: v for k, v in one.items() if k in known})
            for one in json.loads(text)
        )
    except (ValueError, TypeError, AttributeError):
        return ()
