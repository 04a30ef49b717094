"""Members in this process's memory, for tests and for nothing else.

Instances that share a :class:`MemoryStore` see each other. Nothing leaves
the process, so two host processes would never learn of each other.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from ironic_ownership.contracts import backend, capabilities, exceptions, model


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    member: model.Member
    expires_at: float


class MemoryStore:
    """What instances share: rows by host, a clock and a lock.

    :param clock: seconds that only grow; decides who has expired.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.rows: dict[str, _Row] = {}
        self.available = True
        """Set to ``False`` to make every call fail, as an outage does."""

    def alive(self, host: str) -> _Row | None:
        """Return the row of a host that has not expired."""
        row = self.rows.get(host)
        if row is None or row.expires_at <= self.clock():
            return None
        return row

    def check(self) -> None:
        """Fail like a store that does not answer, if told to.

        :raises BackendUnavailableError: while ``available`` is ``False``.
        """
        if not self.available:
            raise exceptions.BackendUnavailableError(
                'the memory store was told to be unavailable'
            )


class MemoryBackend(backend.MembershipBackend):
    """Membership inside one process.

    :param store: share it to share the members; by default an own one.
    """

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[capabilities.Capability]] = frozenset(
        {capabilities.Capability.STORE_CLOCK}
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
        self._host = ''
        self._incarnation = ''

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        """Become a member."""
        with self._store.lock:
            self._store.check()
            row = self._store.alive(host)
            if row is not None and row.member.incarnation != incarnation:
                raise exceptions.MemberExistsError(
                    f'{host} is served already by incarnation '
                    f'{row.member.incarnation}, which is alive',
                    hint='Stop that process, or wait until it has expired',
                )
            joined_at = (
                self._store.clock() if row is None else row.member.joined_at
            )
            self._host, self._incarnation = host, incarnation
            self._put(model.Member(host, incarnation, joined_at, settings))

    def beat(self) -> None:
        """Stay a member for another ``member_ttl``."""
        with self._store.lock:
            self._put(self._own().member)

    def advertise(self, settings: model.MemberSettings) -> None:
        """Replace the settings that this member advertises."""
        with self._store.lock:
            row = self._own()
            self._store.rows[self._host] = _Row(
                dataclasses.replace(row.member, settings=settings),
                row.expires_at,
            )

    def leave(self) -> None:
        """Stop being a member."""
        with self._store.lock:
            self._store.check()
            row = self._store.rows.get(self._host)
            if row and row.member.incarnation == self._incarnation:
                del self._store.rows[self._host]

    def view(self) -> model.View:
        """Return the members alive now."""
        with self._store.lock:
            self._store.check()
            rows = map(self._store.alive, self._store.rows)
            return model.View.of(row.member for row in rows if row)

    def _put(self, member: model.Member) -> None:
        self._store.rows[member.host] = _Row(
            member, self._store.clock() + self.member_ttl
        )

    def _own(self) -> _Row:
        self._store.check()
        row = self._store.alive(self._host)
        if row is None or row.member.incarnation != self._incarnation:
            raise exceptions.NotMemberError(
                f'{self._host or "this process"} is not a member'
            )
        return row
