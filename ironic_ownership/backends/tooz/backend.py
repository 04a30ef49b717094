"""The membership backend on a coordination service, in bounded calls.

A call that is abandoned at its time-out may still take effect. A late beat
postpones an expiry for the others, a late join is undone or expires: neither
makes this process believe that it is alive.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar

from oslo_log import log

from ironic_ownership.backends.tooz import errors
from ironic_ownership.contracts import backend, exceptions, extras, model
from ironic_ownership.contracts.backend import Capability
from ironic_ownership.contracts.calls import LimitedCalls
from ironic_ownership.contracts.options import Option, OptionType

if TYPE_CHECKING:
    from ironic_ownership.backends.tooz.session import Session

LOG = log.getLogger(__name__)

T = TypeVar('T')

_PAUSE = 1.0
"""Seconds before a watch reports that the store does not answer."""


class ToozBackend(backend.MembershipBackend):
    """Membership as a group of tooz, with each process as a member.

    Neither tooz's heart nor its partitioner is used: the first retries
    forever, the second knows nothing of nodes with instances.
    """

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.SHARED, Capability.STORE_CLOCK}
    )
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            'backend_url',
            OptionType.STRING,
            'URL of the coordination service, as tooz reads it: '
            'etcd3+http://127.0.0.1:2379, zookeeper://127.0.0.1:2181, '
            'or redis://:PASSWORD@127.0.0.1:6379. Options of the driver, '
            'such as those for TLS, follow a question mark. '
            'Every host has to use the same service.',
            required=True,
            secret=True,
        ),
        Option(
            'group',
            OptionType.STRING,
            'Name of the membership group. Deployments that share a '
            'coordination service need a name each; all hosts of one '
            'deployment use the same.',
            default='ironic-ownership',
            regex='[A-Za-z0-9_-]{1,64}',
        ),
    )

    def __init__(
        self,
        settings: Mapping[str, model.Value],
        *,
        member_ttl: float,
        call_timeout: float,
    ) -> None:
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        if importlib.util.find_spec('tooz') is None:
            raise exceptions.ConfigurationError(
                ['backend tooz: tooz is not installed'],
                hint=extras.hint('etcd', 'zookeeper', 'redis'),
            )
        # Imported late: without tooz, this class can still be listed.
        from ironic_ownership.backends.tooz import drivers
        from ironic_ownership.backends.tooz import session as tooz_session

        self._group = str(settings['group']).encode('ascii')
        self._driver = drivers.find(
            str(settings['backend_url']), member_ttl, call_timeout
        )
        # The driver decides; the class has those of most drivers.
        vars(self)['capabilities'] = self._driver.capabilities
        self._observer = tooz_session.Observer(self._driver, self._group)
        self._new_session = functools.partial(
            tooz_session.Session, self._driver, self._group
        )
        self._session: Session | None = None
        self._revision = 0
        self._alive_at = 0.0
        self._has_failed = False
        # Waiting calls of one kind must not block those of the other.
        self._writes = LimitedCalls()
        self._reads = LimitedCalls()

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        self._enter(model.Member(host, incarnation, time.time(), settings))

    def beat(self) -> None:
        session, started = self._joined(), time.monotonic()

        self._write(session, session.beat)
        self._alive_at, self._has_failed = started, False

    def advertise(self, settings: model.MemberSettings) -> None:
        session = self._joined()
        self._write(session, session.check)
        self._enter(
            dataclasses.replace(session.record.member, settings=settings)
        )

    def leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._within(self._writes, session.leave)

    def view(self) -> model.View:
        try:
            return self._within(self._reads, self._observer.view)
        except exceptions.BackendUnavailableError:
            self._observer.failed()
            raise

    def watch(self, timeout: float) -> bool:
        ends = time.monotonic() + timeout
        try:
            watcher = self._within(
                self._reads,
                self._observer.watcher,
                min(timeout, self.call_timeout),
            )
            with errors.translated(self._driver):
                return watcher.wait(max(0.0, ends - time.monotonic()))
        except exceptions.BackendUnavailableError:
            self._observer.failed()
            # A caller that waits in a loop must not return immediately.
            time.sleep(min(_PAUSE, max(0.0, ends - time.monotonic())))
            raise

    def close(self) -> None:
        session = self._session

        def work() -> None:
            if session is not None:
                session.close()
            self._observer.close()

        with contextlib.suppress(exceptions.MembershipError):
            self._within(self._reads, work)

    def _enter(self, member: model.Member) -> None:
        """Join with a new id, then leave with the old one: never absent."""
        self._revision += 1
        session = self._new_session(member, self._revision)
        started = time.monotonic()
        try:
            self._within(self._writes, session.join)
        except exceptions.MembershipError:
            self._abandon(session, started)
            raise
        old, self._session = self._session, session
        self._alive_at, self._has_failed = started, False
        if old is not None:
            self._abandon(old, started)

    def _abandon(self, session: Session, started: float) -> None:
        """Leave a session; what the remaining time does not allow, expires."""
        remaining = started + self.call_timeout - time.monotonic()
        try:
            self._within(self._writes, session.leave, max(0.0, remaining))
        except exceptions.MembershipError as exc:
            LOG.debug('an old membership is left to expire: %s', exc)

    def _within(
        self,
        calls: LimitedCalls,
        work: Callable[[], T],
        seconds: float | None = None,
    ) -> T:
        with errors.translated(self._driver):
            return calls.within(
                self.call_timeout if seconds is None else seconds, work
            )

    def _joined(self) -> Session:
        if self._session is None or self._session.is_over:
            raise errors.not_a_member()
        return self._session

    def _write(self, session: Session, change: Callable[[], None]) -> None:
        def work() -> None:
            # A late beat would renew an entry that has expired, but that no
            # client has read since. And after a failure, the store may never
            # answer the session's own client again.
            overdue = time.monotonic() - self._alive_at >= self.member_ttl
            is_doubtful = overdue or self._has_failed
            if is_doubtful and not self._observer.sees(session.id):
                raise errors.not_a_member()
            change()

        started = time.monotonic()
        try:
            self._within(self._writes, work)
        except exceptions.BackendUnavailableError:
            self._has_failed = True
            session.failed()
            raise
        except exceptions.NotMemberError:
            self._session = None
            self._abandon(session, started)
            raise
