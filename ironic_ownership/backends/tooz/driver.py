"""What the backend asks of a kind of store; most of it is the same for all.

The drivers of tooz differ in what they promise and in how they can block.
Whatever is peculiar to one of them stays in its own module.

Threading: a coordinator may be used by several threads, as all the drivers'
clients may. Blocking: the callers bound every call; a store sees to it that
an abandoned one ends some time later.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from tooz import coordination

from ironic_ownership.backends.tooz import member_reader
from ironic_ownership.backends.tooz.store_url import Address
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.capabilities import Capability

Coordinator = coordination.CoordinationDriver
Capabilities = frozenset[Capability]

_TIMINGS = frozenset(
    {'timeout', 'membership_timeout', 'lock_timeout', 'leader_timeout'}
)


class Watcher(Protocol):
    """Learns from the store that the members may have changed."""

    def wait(self, timeout: float) -> bool:
        """Wait until they may have changed since the last call."""

    def close(self) -> None:
        """Stop listening. Never raises."""


class Store:
    """One kind of coordination store.

    :param ttl: seconds that a member stays without a beat.
    :param patience: seconds within which a call should end.
    """

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]
    library: ClassVar[str]
    """The client library, as imported."""
    extra: ClassVar[str]
    """The extra of this package that installs the library."""
    capabilities: ClassVar[Capabilities]
    takes_credentials: ClassVar[bool] = False
    takes_several_servers: ClassVar[bool] = False
    reads_at_once: ClassVar[bool] = False
    """Whether the data of all members costs little more than that of one."""
    strangers: ClassVar[frozenset[bytes]] = frozenset()
    """Ids that the driver lists and that are no members."""
    reserved: ClassVar[frozenset[str]] = _TIMINGS | {'executor', 'handler'}
    """Options of the URL that are ours to set."""

    def __init__(self, address: Address, ttl: float, patience: float) -> None:
        self.address = address
        self.ttl = ttl
        self.patience = patience
        # Each request gets half, so that the library gives up before we do.
        self.request_timeout = patience / 2

    @classmethod
    def is_installed(cls) -> bool:
        """Tell whether the driver's library is there."""
        return importlib.util.find_spec(cls.library) is not None

    def faults(self) -> Sequence[str]:
        """Return what is wrong with the URL and the time to live."""
        found = []
        if self.address.has_credentials and not self.takes_credentials:
            found.append(
                f'{self.name} knows no user and password in a URL of tooz: '
                'leave them out, and use certificates'
            )
        if len(self.address.servers) > 1 and not self.takes_several_servers:
            found.append(
                f'{self.name} takes one server: put an address in front of '
                'them that follows the one in charge'
            )
        ours = sorted(self.reserved & set(self.address.query))
        if ours:
            found.append(
                f'{", ".join(ours)} in the URL: [membership] member_ttl and '
                'heartbeat_interval decide about that'
            )
        return found

    @property
    def whole_ttl(self) -> int:
        """The time to live in whole seconds: never less than asked for."""
        return math.ceil(self.ttl)

    def options(self) -> Mapping[str, Any]:
        """Return the options of the driver."""
        return {
            'timeout': max(1, int(self.request_timeout)),
            'membership_timeout': self.whole_ttl,
            # In the calling thread: tooz's own thread could not be bounded.
            'executor': 'synchronous',
        }

    def open(self, member_id: bytes) -> Coordinator:
        """Connect.

        :raises MembershipError: if the store can't do what is configured.
        """
        coordinator = coordination.get_coordinator(
            self.url,
            member_id,
            **self.options(),
        )
        self.prepare(coordinator)
        try:
            coordinator.start()
            self.check(coordinator)
        except Exception:  # whatever the driver raises, the caller tells
            # It may be connected, and have threads that never give up.
            with contextlib.suppress(Exception):
                self.stop(coordinator)
            raise
        return coordinator

    @property
    def url(self) -> str:
        """The URL that tooz is given."""
        return self.address.url

    def prepare(self, coordinator: Coordinator) -> None:
        """Set up a coordinator before it connects."""
        return None

    def check(self, coordinator: Coordinator) -> None:
        """Refuse a server that can't keep members for as long as asked.

        :raises MembershipError: saying what the server can do.
        """
        return None

    def join(
        self,
        coordinator: Coordinator,
        group: bytes,
        data: Mapping[str, str],
    ) -> None:
        """Put the coordinator's member into the group.

        :raises GroupNotCreated: if there is no such group.
        :raises MemberAlreadyExist: if it is in there.
        """
        coordinator.join_group(group, dict(data)).get(
            timeout=self.request_timeout
        )

    def leave(self, coordinator: Coordinator, group: bytes) -> None:
        """Take the coordinator's member out of the group.

        :raises MemberNotJoined: or GroupNotCreated, if it is not in there.
        """
        coordinator.leave_group(group).get(timeout=self.request_timeout)

    def beat(self, coordinator: Coordinator) -> None:
        """Put off the expiry of the coordinator's member."""
        coordinator.heartbeat()

    def failed(self, coordinator: Coordinator) -> None:
        """Be told that a call was not answered."""
        return None

    def guard(self, expire: Callable[[], None]) -> Guard:
        """Return what ends a membership that is not beaten.

        :param expire: ends the membership in the store; may block.
        """
        return Guard()

    def stop(self, coordinator: Coordinator) -> None:
        """End a coordinator, and what it keeps in the store."""
        try:
            coordinator.stop()
        finally:
            self.disconnect(coordinator)

    def disconnect(self, coordinator: Coordinator) -> None:
        """Free what a coordinator holds; members stay as they are."""
        return None

    def reader(
        self,
        coordinator: Coordinator,
        group: bytes,
        parse: member_reader.Parse[member_reader.T],
    ) -> member_reader.Reader[member_reader.T]:
        """Return what reads the members."""
        return member_reader.IdReader(
            coordinator,
            group,
            parse,
            patience=self.request_timeout,
            ignored=self.strangers,
            at_once=self.reads_at_once,
        )

    def watcher(self, coordinator: Coordinator, group: bytes) -> Watcher:
        """Return what tells of changes, of stores that declare ``WATCH``."""
        raise NotImplementedError(f'{self.name} does not tell of changes')


class Guard:
    """Sees to it that a member expires; most stores do so by themselves."""

    def renew(self) -> None:
        """Start the time to live anew."""
        return None

    def end(self) -> None:
        """Guard no longer."""
        return None


def refuse(store: Store, what: str, hint: str) -> exceptions.MembershipError:
    """Return the error that says what a server can't do."""
    return exceptions.MembershipError(
        f'backend tooz: {store.name} at {store.address}: {what}', hint=hint
    )
