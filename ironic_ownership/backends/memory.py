"""Memory backend: members in the memory of one process, for tests only."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.backend import Capability

_Key = tuple[str, str]
"""Host and incarnation."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    member: model.Member
    expires_at: float


class MemoryStore:
    """The store of several backends.

    :param clock: monotonic clock in seconds, by which members expire.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.rows: dict[_Key, _Row] = {}
        self.available = True
        """Set to ``False`` to make every call fail, as an outage does."""

    def alive(self, key: _Key) -> _Row | None:
        row = self.rows.get(key)
        if row is None or row.expires_at <= self.clock():
            return None
        return row

    def drop_expired(self, host: str) -> None:
        for key in [key for key in self.rows if key[0] == host]:
            if self.alive(key) is None:
                del self.rows[key]

    def check(self) -> None:
        if not self.available:
            raise exceptions.BackendUnavailableError(
                'the memory store is set to unavailable'
            )


class MemoryBackend(backend.MembershipBackend):
    """Membership of the backends that share a store."""

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.STORE_CLOCK}
    )

    def __init__(
        self,
        settings: Mapping[str, model.Value],
        *,
        member_ttl: float,
        call_timeout: float,
        store: MemoryStore | None = None,
    ) -> None:
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        self._store = store or MemoryStore()
        self._key: _Key = ('', '')

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        with self._store.lock:
            self._store.check()
            self._store.drop_expired(host)
            self._key = (host, incarnation)
            row = self._store.alive(self._key)
            joined_at = (
                self._store.clock() if row is None else row.member.joined_at
            )
            self._put(model.Member(host, incarnation, joined_at, settings))

    def beat(self) -> None:
        with self._store.lock:
            self._put(self._own().member)

    def advertise(self, settings: model.MemberSettings) -> None:
        with self._store.lock:
            row = self._own()
            self._store.rows[self._key] = _Row(
                dataclasses.replace(row.member, settings=settings),
                row.expires_at,
            )

    def leave(self) -> None:
        with self._store.lock:
            self._store.check()
            self._store.rows.pop(self._key, None)

    def view(self) -> model.View:
        with self._store.lock:
            self._store.check()
            rows = [
                row for row in map(self._store.alive, self._store.rows) if row
            ]
            first = min((row.expires_at for row in rows), default=None)
            return model.View.of(
                (row.member for row in rows),
                None if first is None else first - self._store.clock(),
            )

    def _put(self, member: model.Member) -> None:
        self._store.rows[self._key] = _Row(
            member, self._store.clock() + self.member_ttl
        )

    def _own(self) -> _Row:
        self._store.check()
        row = self._store.alive(self._key)
        if row is None:
            raise exceptions.NotMemberError(
                f'{self._key[0] or "this process"} is not a member'
            )
        return row
