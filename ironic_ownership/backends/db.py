"""Database backend: members are rows, with the time of their heartbeat.

The clock of the database may jump, so it decides only in a process that has
just started; later each process measures on its own who is alive: see
``HeartbeatLog``. So does a member for itself. The backend has connections of
its own: a beat never waits for one that the refresh loop holds. On SQLite all
members share one machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.backend import Capability
from ironic_ownership.contracts.calls import Call, Clock, monotonic
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.db import connection, heartbeats, schema, url

T = TypeVar('T')

_CONNECTIONS = 2


class DatabaseBackend(backend.MembershipBackend):
    """Membership through the ``members`` table.

    A call that is abandoned at its time-out may still take effect: for other
    members that delays an expiry; this process does not count it as a beat.
    """

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.SHARED,
            Capability.PERSISTENT,
            Capability.STORE_CLOCK,
        }
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
        if url.is_file(str(settings['connection'])):
            # The class attribute describes servers, shared by many machines.
            vars(self)['capabilities'] = self.capabilities - {
                Capability.SHARED
            }
        self._clock = clock
        self._alive_until = float('-inf')
        self._opening = threading.Lock()
        self._database: connection.Database | None = None
        self._row = heartbeats.MemberRow('', '', member_ttl)
        self._log = heartbeats.HeartbeatLog(member_ttl)

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        row = self._row = heartbeats.MemberRow(
            host, incarnation, self.member_ttl
        )
        started = self._clock()
        self._call(lambda database: row.join(database, settings))
        self._alive_until = started + self.member_ttl

    def beat(self) -> None:
        # From before the call, whose answer may be late.
        started = self._clock()
        self._change(self._row.beat)
        self._alive_until = started + self.member_ttl

    def advertise(self, settings: model.MemberSettings) -> None:
        row = self._row
        self._change(lambda database: row.advertise(database, settings))

    def leave(self) -> None:
        self._alive_until = float('-inf')
        self._call(self._row.leave)

    def view(self) -> model.View:
        started = self._clock()
        found = self._call(heartbeats.last, create=False)
        return self._log.view(found, started, self._clock())

    def close(self) -> None:
        with self._opening:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _change(self, work: Callable[[connection.Database], bool]) -> None:
        # Others may have seen it expire, also while the call waited.
        if not (self._is_alive() and self._call(work) and self._is_alive()):
            raise exceptions.NotMemberError(
                f'{self._row.host or "this process"} is not a member '
                '(any more)'
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
                    connect_timeout=self.call_timeout / 2,
                    statement_timeout=self.call_timeout / 2,
                    max_pool_size=_CONNECTIONS,
                    max_overflow=_CONNECTIONS,
                    pool_timeout=self.call_timeout / 2,
                )
                if not create and not database.exists:
                    return database
                schema.ensure(database)
                self._database = database
            return self._database


def _outage(exc: Exception) -> exceptions.RecordsUnavailableError:
    """Return the error of the database: a late answer is one as well."""
    if isinstance(exc, exceptions.RecordsUnavailableError):
        return exc
    return exceptions.RecordsUnavailableError(str(exc))
