"""Database backend of the membership: a row with heartbeats for each member.

The database's clock gives each heartbeat a time, by which a reader tells it
from the one before. That clock may jump, so it decides only in a process that
has just started; later each process measures on its own who is alive: see
:class:`HeartbeatLog`. So does a member for itself. The backend has connections
of its own: a beat never waits for one that the refresh loop holds. On SQLite
all members share one machine. Must not know about services or nodes.
"""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeVar

import sqlalchemy as sa

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.backend import Capability
from ironic_ownership.contracts.calls import Call, Clock, monotonic
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.db import connection, dialects, rows, tables

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
    left = (_members.expires_at - dialects.EpochSeconds()).label('left')
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
        self, found: Iterable[Heartbeat], started: float, ended: float
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
                for known in (self._stamps, self._alive_until, self._leads):
                    for key in [key for key in known if key not in kept]:
                        del known[key]
                self._read_at, self._asked_at = ended, started
            ahead = self._ahead()
        return model.View.of(
            left, min(left.values(), default=None), ahead, beaten_at
        )

    def _expiry(
        self, beat: Heartbeat, started: float, ended: float, *, fresh: bool
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


def _key(member: model.Member) -> _Key:
    return member.host, member.incarnation, member.joined_at


T = TypeVar('T')

_CONNECTIONS = 2


class DatabaseBackend(backend.MembershipBackend):
    """Membership through the ``members`` table.

    A call that is abandoned at its time-out may still take effect: for other
    members that delays an expiry; this process does not count it as a beat.
    """

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.SHARED, Capability.PERSISTENT, Capability.STORE_CLOCK}
    )
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            'connection',
            OptionType.STRING,
            'URL of the database that holds the heartbeat rows. By default '
            'it is the database of the records, [database] connection. '
            'Every host has to use the same one.',
            default='$database.connection',
            secret=True,
        ),
    )

    def __init__(
        self,
        settings: Mapping[str, model.Value],
        *,
        member_ttl: float,
        call_timeout: float,
        clock: Clock = monotonic,
    ) -> None:
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        if dialects.is_file(str(settings['connection'])):
            # The class attribute describes servers, shared by many machines.
            vars(self)['capabilities'] = self.capabilities - {
                Capability.SHARED
            }
        self._clock = clock
        self._alive_until = float('-inf')
        self._opening = threading.Lock()
        self._database: connection.Database | None = None
        self._host = self._incarnation = ''
        self._log = HeartbeatLog(member_ttl)

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        self._host, self._incarnation = host, incarnation
        is_own = self._is_own()
        now = dialects.EpochSeconds()
        values = {
            'settings': settings.to_json(),
            'expires_at': now + self.member_ttl,
        }

        def work(conn: sa.Connection) -> None:
            # First, while this transaction holds no row for which another one
            # that joins would wait: rows of the host that expired long ago do
            # not pile up.
            conn.execute(
                sa.delete(_table).where(
                    _members.host == host, _members.expires_at <= now - KEPT
                )
            )
            renewed = conn.execute(
                sa.update(_table).where(is_own).values(**values)
            )
            if renewed.rowcount == 0:
                conn.execute(
                    sa.insert(_table).values(
                        host=host,
                        incarnation=incarnation,
                        joined_at=now,
                        **values,
                    )
                )

        started = self._clock()
        self._call(lambda database: database.write(work))
        self._alive_until = started + self.member_ttl

    def beat(self) -> None:
        # From before the call, whose answer may be late.
        started = self._clock()
        self._change(expires_at=dialects.EpochSeconds() + self.member_ttl)
        self._alive_until = started + self.member_ttl

    def advertise(self, settings: model.MemberSettings) -> None:
        self._change(settings=settings.to_json())

    def leave(self) -> None:
        self._alive_until = float('-inf')
        statement = sa.delete(_table).where(self._is_own())
        self._call(
            lambda database: database.write(
                lambda conn: conn.execute(statement)
            )
        )

    def view(self) -> model.View:
        started = self._clock()
        found = self._call(last, create=False)
        return self._log.view(found, started, self._clock())

    def close(self) -> None:
        with self._opening:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _is_own(self) -> sa.ColumnElement[bool]:
        return (_members.host == self._host) & (
            _members.incarnation == self._incarnation
        )

    def _change(self, **values: object) -> None:
        """Change the row, if there is one."""
        statement = sa.update(_table).where(self._is_own()).values(**values)

        def work(database: connection.Database) -> bool:
            return database.write(
                lambda conn: conn.execute(statement).rowcount == 1
            )

        # Others may have seen it expire, also while the call waited.
        if not (self._is_alive() and self._call(work) and self._is_alive()):
            raise exceptions.NotMemberError(
                f'{self._host or "this process"} is not a member (any more)'
            )

    def _is_alive(self) -> bool:
        return self._clock() < self._alive_until

    def _call(
        self, work: Callable[[connection.Database], T], *, create: bool = True
    ) -> T:
        try:
            return Call(
                lambda: work(self._open(create=create)), 'backend db'
            ).result(self.call_timeout)
        except (exceptions.RecordsUnavailableError, TimeoutError) as exc:
            raise exceptions.BackendUnavailableError(
                f'backend db: {exc.args[0]}',
                hint=getattr(exc, 'hint', '')
                or 'Check that the database runs and is not overloaded',
            ) from _outage(exc)
        except exceptions.RecordsError as exc:
            raise exceptions.MembershipError(
                f'backend db: {exc.args[0]}', hint=exc.hint
            ) from exc

    def _open(self, *, create: bool) -> connection.Database:
        with self._opening:
            if self._database is None:
                # Each step gets half, so that the driver gives up before
                # the caller does.
                database = connection.open_database(
                    str(self.settings['connection']),
                    connection_parameters=self.settings.get(
                        'connection_parameters'
                    ),
                    connect_timeout=self.call_timeout / 2,
                    statement_timeout=self.call_timeout / 2,
                    max_pool_size=_CONNECTIONS,
                    max_overflow=_CONNECTIONS,
                    pool_timeout=self.call_timeout / 2,
                )
                if not create and not database.exists:
                    return database
                if not database.is_current:
                    # Imported where it is called: few find another one.
                    from ironic_ownership.db import schema

                    schema.ensure(database)
                self._database = database
            return self._database


def _outage(exc: Exception) -> exceptions.RecordsUnavailableError:
    """Return the error of the database: a late answer is one as well."""
    if isinstance(exc, exceptions.RecordsUnavailableError):
        return exc
    return exceptions.RecordsUnavailableError(str(exc))
