"""The members' rows and heartbeats, of the ``db`` membership backend.

The database's clock gives each heartbeat a time, by which a reader tells it
from the one before. Must not know about services or nodes.
"""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Container, Iterable

import sqlalchemy as sa

from ironic_ownership.contracts import model
from ironic_ownership.db import connection, queries, rows, tables

_table = tables.members
_members = tables.members.c

_Key = tuple[str, str, float]
"""Host, incarnation and time of one membership."""

_SAMPLES = 8
"""Heartbeats of each member of which the largest lead counts: each shows too
little by the time until it was read."""

KEPT = 86400.0
"""Seconds for which a row is kept after its expiry: no jump of a clock by
hours may delete that of a live process."""


@dataclasses.dataclass(frozen=True)
class MemberRow:
    """The row of one process; ``ttl`` is in seconds."""

    host: str
    incarnation: str
    ttl: float

    def join(
        self, database: connection.Database, settings: model.MemberSettings
    ) -> None:
        """Write the row; other processes of the host stay.

        Rows of the host that expired long ago are deleted, so that they do
        not pile up.
        """

        def work(conn: sa.Connection) -> None:
            now = queries.EpochSeconds()
            # First, while this transaction holds no row for which another one
            # that joins would wait.
            conn.execute(
                sa.delete(_table).where(
                    _members.host == self.host,
                    _members.expires_at <= now - KEPT,
                )
            )
            values = {
                'settings': settings.to_json(),
                'expires_at': now + self.ttl,
            }
            renewed = conn.execute(
                sa.update(_table).where(self._is_own).values(**values)
            )
            if renewed.rowcount == 0:
                conn.execute(
                    sa.insert(_table).values(
                        host=self.host,
                        incarnation=self.incarnation,
                        joined_at=now,
                        **values,
                    )
                )

        database.write(work)

    def beat(self, database: connection.Database) -> bool:
        """Extend the life of a member; ``False`` if it has no row."""
        return self._change(
            database, expires_at=queries.EpochSeconds() + self.ttl
        )

    def advertise(
        self, database: connection.Database, settings: model.MemberSettings
    ) -> bool:
        """Replace the settings of a member; ``False`` if it has no row."""
        return self._change(database, settings=settings.to_json())

    def leave(self, database: connection.Database) -> None:
        statement = sa.delete(_table).where(self._is_own)
        database.write(lambda conn: conn.execute(statement))

    @property
    def _is_own(self) -> sa.ColumnElement[bool]:
        return (_members.host == self.host) & (
            _members.incarnation == self.incarnation
        )

    def _change(self, database: connection.Database, **values: object) -> bool:
        statement = sa.update(_table).where(self._is_own).values(**values)
        return database.write(
            lambda conn: conn.execute(statement).rowcount == 1
        )


@dataclasses.dataclass(frozen=True)
class Heartbeat:
    """The last heartbeat of one member.

    :param left: seconds until it expires by the clock of the server that
        answered; at most 0 if it has.
    :param expires_at: by the clock of the server that accepted it.
    """

    member: model.Member
    left: float
    expires_at: float


def last(database: connection.Database) -> list[Heartbeat]:
    """Return the last heartbeat of each member, expired or not. One query."""
    if not database.exists:
        return []  # no service has joined, and none is made here
    left = (_members.expires_at - queries.EpochSeconds()).label('left')
    statement = sa.select(_table, left)
    found = database.read(lambda conn: conn.execute(statement).all())
    return [
        Heartbeat(rows.member(row), row.left, row.expires_at) for row in found
    ]


class HeartbeatLog:
    """Last heartbeats of all members, as one process has seen them.

    The clock of a database may jump, the servers of a cluster have one each,
    and so has a promoted standby. So a process that reads the members again
    and again only compares the times of a member's heartbeats: another time
    is another heartbeat. A member is alive for ``member_ttl`` after each that
    was seen. That is never too early, because the member stops acting
    ``member_ttl`` after the heartbeat at the latest.

    A heartbeat from the future of the server that answers shows that the
    clocks differ. Pure: no IO; receives heartbeats and times.

    Threading: any thread.

    :param member_ttl: seconds for which a heartbeat counts.
    """

    def __init__(self, member_ttl: float) -> None:
        self._ttl = member_ttl
        self._lock = threading.Lock()
        self._read_at = self._asked_at = float('-inf')
        self._stamps: dict[_Key, float] = {}
        self._alive_until: dict[_Key, float] = {}
        self._leads: dict[_Key, collections.deque[float]] = {}

    def view(
        self,
        found: Iterable[Heartbeat],
        started: float,
        ended: float,
    ) -> model.View:
        """Return the members that are alive.

        The clock of the server decides alone, and for at most ``member_ttl``,
        about a member of which this process has seen no other heartbeat
        before, or if the last call is too long ago to know when it was.

        :param found: the last heartbeat of each member.
        :param started: when they were requested, in seconds on a clock that
            only runs forward.
        :param ended: when they were received.
        """
        with self._lock:
            # After a longer gap it is unknown when a heartbeat was.
            fresh = started - self._read_at <= self._ttl
            # One that a later read has overtaken: its heartbeats are known.
            late = started < self._asked_at
            left: dict[model.Member, float] = {}
            kept = set()
            beaten_at = {}
            for beat in found:
                kept.add(_key(beat.member))
                beaten_at[beat.member.incarnation] = (
                    beat.expires_at - self._ttl
                )
                until = self._alive_until.get(_key(beat.member))
                if until is None or not late:
                    until = self._expiry(beat, started, ended, fresh=fresh)
                if until > started:
                    left[beat.member] = until - started
            if not late:
                self._forget(kept)
                self._read_at, self._asked_at = ended, started
            ahead = self._ahead()
        return model.View.of(
            left, min(left.values(), default=None), ahead, beaten_at
        )

    def _expiry(
        self,
        beat: Heartbeat,
        started: float,
        ended: float,
        *,
        fresh: bool,
    ) -> float:
        key = _key(beat.member)
        before, self._stamps[key] = self._stamps.get(key), beat.expires_at
        # An earlier time is another heartbeat, too: clocks may jump.
        if before != beat.expires_at:
            samples = collections.deque[float](maxlen=_SAMPLES)
            self._leads.setdefault(key, samples).append(beat.left - self._ttl)
            # The server sent its answer before ``ended``; it is unknown how
            # long before: counted from there, no death is too early.
            if before is not None and fresh:
                self._alive_until[key] = ended + self._ttl
            elif beat.left > 0:
                self._alive_until[key] = ended + min(beat.left, self._ttl)
            else:
                self._alive_until[key] = started
        return self._alive_until[key]

    def _ahead(self) -> dict[str, float]:
        leads: dict[str, float] = {}
        for (host, *_), samples in self._leads.items():
            leads[host] = max(*samples, leads.get(host, 0.0))
        return {host: lead for host, lead in leads.items() if lead > 0}

    def _forget(self, kept: Container[_Key]) -> None:
        for known in (self._stamps, self._alive_until, self._leads):
            for key in [key for key in known if key not in kept]:
                del known[key]


def _key(member: model.Member) -> _Key:
    return member.host, member.incarnation, member.joined_at
