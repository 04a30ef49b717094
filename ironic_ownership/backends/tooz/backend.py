"""The membership backend on a coordination service, in bounded calls.

A call that is abandoned at its time-out may still come true. A beat then
puts off an expiry for the others, a join is undone or expires: neither makes
this process think that it is alive.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from oslo_log import log

from ironic_ownership.backends.tooz import bounded_calls
from ironic_ownership.backends.tooz.member_record import Advert
from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.capabilities import Capability
from ironic_ownership.contracts.options import Option, OptionType

if TYPE_CHECKING:
    from ironic_ownership.backends.tooz.session import Session

LOG = log.getLogger(__name__)

_PAUSE = 1.0
"""Seconds before a watch says that the store does not answer."""


class ToozBackend(backend.MembershipBackend):
    """Membership as a group of tooz, each process being a member of it.

    Neither tooz's heart nor its partitioner is used: the first retries for
    ever, the second knows nothing of nodes with instances.
    """

    contract_version: ClassVar[int] = 1
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.SHARED,
            Capability.STORE_CLOCK,
        }
    )
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            'backend_url',
            OptionType.STRING,
            'URL of the coordination service, as tooz reads it: '
            'etcd3+http://127.0.0.1:2379, zookeeper://127.0.0.1:2181, '
            'redis://:PASSWORD@127.0.0.1:6379, memcached://127.0.0.1:11211, '
            'or file:///DIRECTORY for the processes of one machine. Options '
            'of the driver, such as those for TLS, follow a question mark. '
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
        """Build the backend; no IO yet.

        :raises ConfigurationError: if the driver can't do what is needed.
        """
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        if importlib.util.find_spec('tooz') is None:
            fault = (
                'backend tooz: tooz is not installed: pip install '
                'ironic-ownership[etcd], [zookeeper], [redis] or [memcached]'
            )
            raise exceptions.ConfigurationError([fault])
        # Only now: without tooz, this class can still be listed.
        from ironic_ownership.backends.tooz import drivers, observer
        from ironic_ownership.backends.tooz import session as tooz_session

        self._group = str(settings['group']).encode('ascii')
        self._store = drivers.find(
            str(settings['backend_url']), member_ttl, call_timeout
        )
        # Which driver it is decides; the class tells of the usual ones.
        vars(self)['capabilities'] = self._store.capabilities
        self._observer = observer.Observer(self._store, self._group)
        self._new_session = functools.partial(
            tooz_session.Session, self._store, self._group
        )
        self._session: Session | None = None
        self._revision = 0
        self._alive_at = 0.0
        self._has_failed = False
        # One that waits must not keep the other from being tried.
        self._writes = bounded_calls.Asking(self._store)
        self._reads = bounded_calls.Asking(self._store)

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        """Become a member."""
        self._enter(model.Member(host, incarnation, time.time(), settings))

    def beat(self) -> None:
        """Stay a member for another ``member_ttl``."""
        session, started = self._joined(), time.monotonic()

        def work() -> None:
            self._refuse_missing(session)
            session.beat()

        self._write(session, work)
        self._alive_at, self._has_failed = started, False

    def advertise(self, settings: model.MemberSettings) -> None:
        """Replace the settings that this member advertises."""
        session = self._joined()

        def work() -> None:
            self._refuse_missing(session)
            session.look()

        self._write(session, work)
        self._enter(
            dataclasses.replace(session.advert.member, settings=settings)
        )

    def leave(self) -> None:
        """Stop being a member."""
        session, self._session = self._session, None
        if session is not None:
            self._writes.within(self.call_timeout, session.leave)

    def view(self) -> model.View:
        """Return the members alive now."""
        try:
            return self._reads.within(self.call_timeout, self._observer.view)
        except exceptions.BackendUnavailableError:
            self._observer.failed()
            raise

    def watch(self, timeout: float) -> bool:
        """Wait until the store tells that the members may have changed."""
        ends = time.monotonic() + timeout
        try:
            watcher = self._reads.within(
                min(timeout, self.call_timeout), self._observer.watcher
            )
            with bounded_calls.answers(self._store):
                return watcher.wait(max(0.0, ends - time.monotonic()))
        except exceptions.BackendUnavailableError:
            self._observer.failed()
            # Who waits in a loop must not come back at once.
            time.sleep(min(_PAUSE, max(0.0, ends - time.monotonic())))
            raise

    def close(self) -> None:
        """Free the connections; a member expires by itself."""
        session = self._session

        def work() -> None:
            if session is not None:
                session.close()
            self._observer.close()

        with contextlib.suppress(exceptions.MembershipError):
            self._reads.within(self.call_timeout, work)

    def _enter(self, member: model.Member) -> None:
        """Be a member under a new id, then give up the old one.

        In this order the process is never absent; while both are there, the
        higher revision counts.
        """
        self._revision += 1
        advert = Advert(member, self._revision)
        session = self._new_session(advert)
        started = time.monotonic()
        try:
            self._writes.within(self.call_timeout, session.join)
        except exceptions.MembershipError:
            self._give_up(session, started)
            raise
        old, self._session = self._session, session
        self._alive_at, self._has_failed = started, False
        if old is not None:
            self._give_up(old, started)

    def _give_up(self, session: Session, started: float) -> None:
        """Leave a session that counts no more; if that fails, it expires.

        :param started: when the call began that has to end in time; what is
            not done by then goes on without it.
        """
        left = started + self.call_timeout - time.monotonic()
        try:
            self._writes.within(max(0.0, left), session.leave)
        except exceptions.MembershipError as exc:
            LOG.debug('an old membership is left to expire: %s', exc)

    def _joined(self) -> Session:
        if self._session is None or self._session.is_over:
            raise exceptions.NotMemberError(
                'backend tooz: this process is not a member'
            )
        return self._session

    def _refuse_missing(self, session: Session) -> None:
        """Let nobody come back who may have been missed.

        A late beat would renew what has expired while nobody looked. And
        after a failure, the session's own client may be one that the store
        will never answer again.
        """
        overdue = time.monotonic() - self._alive_at >= self.member_ttl
        if not (overdue or self._has_failed):
            return
        if not self._observer.sees(session.id):
            raise exceptions.NotMemberError(
                'backend tooz: this process is not a member (any more)'
            )

    def _write(self, session: Session, work: Callable[[], None]) -> None:
        started = time.monotonic()
        try:
            self._writes.within(self.call_timeout, work)
        except exceptions.BackendUnavailableError:
            self._has_failed = True
            session.failed()
            raise
        except exceptions.NotMemberError:
            self._session = None
            self._give_up(session, started)
            raise
