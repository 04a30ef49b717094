"""Base of the drivers: one kind of store each, used through tooz.

Threading: several threads may use a coordinator, as its client allows.
Blocking: the callers bound every call; a driver ensures that an abandoned
one ends some time later.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import difflib
import functools
import math
import os
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, Protocol

from oslo_utils import strutils
from tooz import coordination

from ironic_ownership.backends.tooz import members
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.backend import Capability

Coordinator = coordination.CoordinationDriver
Capabilities = frozenset[Capability]

SERVER = frozenset({Capability.SHARED, Capability.STORE_CLOCK})
"""Capabilities of every server."""

CONSENSUS = SERVER | {Capability.PERSISTENT, Capability.WATCH}
"""Capabilities of a server that keeps its data and reports changes."""

_TIMINGS = frozenset(
    {'timeout', 'membership_timeout', 'lock_timeout', 'leader_timeout'}
)


BOOLEAN, WHOLE, NUMBER = 'true or false', 'a whole number', 'a number'
ENCODING, VERSION = 'the name of an encoding', 'v3, v3beta or v3alpha'
SERVERS, _TEXT = 'a list of host:port', ''


def _whole(text: str) -> None:
    if not text.isdecimal():
        raise ValueError(text)


def _servers(text: str) -> None:
    for server in text.split(','):
        urllib.parse.urlsplit(f'//{server}').port  # noqa: B018 - raises


_KINDS: Mapping[str, Callable[[str], object]] = {
    _TEXT: str,
    SERVERS: _servers,
    # tooz takes any other text for false.
    BOOLEAN: functools.partial(strutils.bool_from_string, strict=True),
    WHOLE: _whole,
    NUMBER: float,
    ENCODING: codecs.lookup,
    VERSION: ('v3', 'v3beta', 'v3alpha').index,
}
"""What an option of a URL may be: each raises an error for other texts."""


class Watcher(Protocol):
    """Waits for reports of the store that the members may have changed.

    It ends with the coordinator.
    """

    def wait(self, timeout: float) -> bool:
        """Wait until they may have changed since the last call."""


class Driver:
    """One kind of coordination store, at one URL.

    :cvar tls: options of the URL that turn TLS on, where the scheme does not.
    :cvar of_tls: those that have no effect without one of them.
    :param ttl: seconds that a member stays without a beat.
    :param call_timeout: seconds within which a call should end.
    """

    name: ClassVar[str]
    """Also the extra of this package that installs the library."""
    schemes: ClassVar[tuple[str, ...]]
    library: ClassVar[str]
    """The client library, as imported."""
    capabilities: ClassVar[Capabilities]
    takes_several_servers: ClassVar[bool] = False
    lives_without_beats: ClassVar[bool] = False
    """True if the client keeps a member alive although no beat comes."""
    reader_class: ClassVar[type[members.ToozReader]] = members.ToozReader
    reads_in_bulk: ClassVar[bool] = False
    """True if the data of all members costs little more than that of one."""
    reserved: ClassVar[frozenset[str]] = _TIMINGS | {'executor', 'handler'}
    """Options of the URL that this driver sets itself."""
    known: Set[str] = frozenset()
    """Other options of the URL that tooz reads; it ignores the rest."""
    kinds: ClassVar[Mapping[str, str]] = {}
    """What each option is that is more than a text, as in ``_KINDS``."""
    tls: ClassVar[tuple[str, ...]] = ()
    of_tls: ClassVar[Set[str]] = frozenset()

    def __init__(
        self, store_url: StoreURL, ttl: float, call_timeout: float
    ) -> None:
        self.store_url = store_url
        self.ttl = ttl
        self.call_timeout = call_timeout
        # Each request gets half, so that the library gives up first.
        self.request_timeout = call_timeout / 2

    def faults(self) -> Sequence[str]:
        found = []
        if len(self.store_url.servers) > 1 and not self.takes_several_servers:
            found.append(
                f'{self.name} takes one server: name an address that leads '
                'to the active one'
            )
        ours = sorted(self.reserved & set(self.store_url.query))
        if ours:
            found.append(
                f'{", ".join(ours)} in the URL: [membership] member_ttl and '
                'heartbeat_interval determine that'
            )
        parts, query = self.store_url.parts, self.store_url.query
        for name in sorted(set(query) - self.known - self.reserved):
            near = difflib.get_close_matches(name, sorted(self.known), 1)
            found.append(
                f'{self.name} has no option {name}: '
                + (f'did you mean {near[0]}?' if near else 'remove it')
            )
        for name, text in self.store_url.pairs:
            kind = self.kinds.get(name, _TEXT)
            try:
                _KINDS[kind](text)
            except (ValueError, LookupError):
                found.append(f'{name} is {kind}')
        found += self._tls_faults()
        # Redis has sockets, and uses database 0.
        has_path = parts.path not in {'', '/', '/0'} and parts.hostname
        if has_path or parts.fragment:
            found.append('a path or fragment has no effect: remove it')
        if found and '@' in parts.path + parts.query + parts.fragment:
            # Not the faults, which may quote a part of the password.
            return ['user and password need %2F for /, %3F for ?, %23 for #']
        return found

    def _tls_faults(self) -> Iterator[str]:
        query = self.store_url.query
        no_files = {'keyfile_password', 'verify_certs'}
        for name in sorted(self.of_tls & query.keys() - no_files):
            # Some clients only report that they cannot connect.
            if not os.access(query[name], os.R_OK):
                yield f'{name}: the file {query[name]} cannot be read'
        options = ', '.join(sorted(self.of_tls & query.keys()))
        on = (strutils.bool_from_string(query.get(name)) for name in self.tls)
        scheme = self.store_url.parts.scheme
        if options and not scheme.endswith('https') and not any(on):
            way = f'add {self.tls[0]}=true' if self.tls else f'write {scheme}s'
            yield f'{options} needs TLS: {way}'

    @property
    def whole_ttl(self) -> int:
        """The time to live in whole seconds: never less than configured."""
        return math.ceil(self.ttl)

    def options(self) -> Mapping[str, Any]:
        return {
            'timeout': max(1, int(self.request_timeout)),
            'membership_timeout': self.whole_ttl,
            # In the calling thread: tooz's own thread could not be bounded.
            'executor': 'synchronous',
        }

    def open(self, member_id: bytes) -> Coordinator:
        """Connect; :class:`MembershipError` if the server does not suffice."""
        coordinator = coordination.get_coordinator(
            self.url, member_id, **self.options()
        )
        self.prepare(coordinator)
        try:
            coordinator.start()
            self.check(coordinator)
        except Exception:  # translated by the caller
            # It may be connected, and have threads that never end.
            with contextlib.suppress(Exception):
                self.stop(coordinator)
            raise
        return coordinator

    @property
    def url(self) -> str:
        return self.store_url.url

    def prepare(self, coordinator: Coordinator) -> None:
        """Set up a coordinator before it connects."""

    def check(self, coordinator: Coordinator) -> None:
        """Refuse a server that can't keep members for the time to live."""

    def join(
        self, coordinator: Coordinator, group: bytes, data: Mapping[str, str]
    ) -> None:
        """Put the member into the group, or raise the error of tooz."""
        coordinator.join_group(group, dict(data)).get(
            timeout=self.request_timeout
        )

    def leave(self, coordinator: Coordinator, group: bytes) -> None:
        """Take the coordinator's member out of the group."""
        coordinator.leave_group(group).get(timeout=self.request_timeout)

    def beat(self, coordinator: Coordinator) -> None:
        coordinator.heartbeat()

    def failed(self, coordinator: Coordinator) -> None:
        """Note a call without an answer."""

    def stop(self, coordinator: Coordinator) -> None:
        try:
            coordinator.stop()
        finally:
            self.disconnect(coordinator)

    def disconnect(self, coordinator: Coordinator) -> None:
        """Free the connections of a coordinator; its members stay."""

    def reader(
        self, coordinator: Coordinator, group: bytes, parse: members.Parse
    ) -> members.Reader:
        return self.reader_class(self, coordinator, group, parse)

    def watcher(self, coordinator: Coordinator, group: bytes) -> Watcher:
        """Return a watcher, of a driver that declares ``WATCH``."""
        raise NotImplementedError(f'{self.name} does not report changes')

    def unsupported(self, what: str, hint: str) -> exceptions.MembershipError:
        return exceptions.MembershipError(
            f'backend tooz: {self.name} at {self.store_url}: {what}', hint=hint
        )


def create_group(
    coordinator: Coordinator, group: bytes, timeout: float
) -> None:
    """Create a group, unless it exists."""
    with contextlib.suppress(coordination.GroupAlreadyExist):
        coordinator.create_group(group).get(timeout=timeout)


_SECRET = 'password'  # noqa: S105 - a part of the names of secret options
_MASK = '***'


@dataclasses.dataclass(frozen=True)
class StoreURL:
    """The URL of a store; ``repr`` and ``str`` do not show credentials."""

    url: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.masked(self.url)

    @functools.cached_property
    def parts(self) -> urllib.parse.SplitResult:
        try:
            parts = urllib.parse.urlsplit(self.url)
            _servers(parts.netloc.rpartition('@')[2])
        except ValueError:
            # Without its cause, which may quote a password.
            raise _fault('is not a URL') from None
        if not parts.scheme:
            raise _fault('has no scheme such as etcd3+http://')
        return parts

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers as ``host:port``, without credentials."""
        netloc = self.parts.netloc.rpartition('@')[2]
        return tuple(filter(None, netloc.split(',')))

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password, decoded."""
        if '@' not in self.parts.netloc:
            return None
        user, _, password = self.parts.netloc.rpartition('@')[0].partition(':')
        return urllib.parse.unquote(user), urllib.parse.unquote(password)

    @functools.cached_property
    def query(self) -> dict[str, str]:
        """The options after the question mark; the last of a name."""
        return dict(self.pairs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The options after the question mark, also those of one name."""
        return urllib.parse.parse_qsl(self.parts.query, keep_blank_values=True)

    def at(self, server: str) -> str:
        """Return the URL of one of :attr:`servers`, with everything else."""
        credentials, at, _ = self.parts.netloc.rpartition('@')
        return self.parts._replace(
            netloc=f'{credentials}{at}{server}'
        ).geturl()

    def masked(self, text: str) -> str:
        """Return a text without the secrets of this URL."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _MASK)
        return text

    @functools.cached_property
    def _secrets(self) -> frozenset[str]:
        try:
            parts, query = self.parts, self.query
        except exceptions.ConfigurationError:
            return frozenset({self.url})
        credentials = parts.netloc.rpartition('@')[0]
        found = {credentials.partition(':')[2]}
        found |= {value for name, value in query.items() if _SECRET in name}
        # As written, and decoded.
        found |= {urllib.parse.unquote(secret) for secret in found}
        found |= {urllib.parse.quote(secret, safe='') for secret in found}
        return frozenset(filter(None, found))


def _fault(what: str) -> exceptions.ConfigurationError:
    return exceptions.ConfigurationError(
        [f'[backend_tooz] backend_url {what}']
    )
