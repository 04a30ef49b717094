"""etcd: a lease for each member, and a server that reports every change."""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import requests
import requests.adapters
from oslo_log import log
from tooz import coordination

from ironic_ownership.backends.tooz import driver, etcd_members, members


class EtcdDriver(driver.Driver):
    """An etcd, which may be a cluster."""

    name = 'etcd'
    schemes = ('etcd3+http', 'etcd3+https')
    library = 'etcd3gw'
    capabilities: ClassVar[driver.Capabilities] = driver.CONSENSUS
    takes_several_servers = True
    kinds: ClassVar[Mapping[str, str]] = {'api_version': driver.VERSION}
    of_tls = frozenset({'ca_cert', 'cert_cert', 'cert_key'})
    known = of_tls | kinds.keys()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._servers = Servers(self.store_url.servers or ('localhost',))
        user = self.store_url.credentials
        self._login = Login(user) if user else None
        self._granted = 0

    def faults(self) -> Sequence[str]:
        query, found = self.store_url.query, [*super().faults()]
        if bool(query.get('cert_cert')) != bool(query.get('cert_key')):
            found.append('cert_cert and cert_key are needed together')
        return found

    @property
    def url(self) -> str:
        return self.store_url.at(self._servers.addresses[0])

    def prepare(self, coordinator: Any) -> None:
        client = coordinator.client
        client.timeout = self.request_timeout
        adapter = Adapter(self._servers, self._login, self.call_timeout)
        for scheme in ('http://', 'https://'):
            client.session.mount(scheme, adapter)
        if 'ca_cert' in self.store_url.query:
            # Otherwise an authority named in the environment has priority.
            client.session.trust_env = False

    def check(self, coordinator: Any) -> None:
        """Refuse longer leases: the shortest is 1.5 election time-outs."""
        if not self._granted:
            client = coordinator.client
            lease = client.post(
                client.get_url('/lease/grant'),
                json={'TTL': self.whole_ttl, 'ID': 0},
            )
            client.post(
                client.get_url('/lease/revoke'), json={'ID': lease['ID']}
            )
            self._granted = int(lease['TTL'])
        if self._granted != self.whole_ttl:
            raise self.unsupported(
                f'keeps a member for {self._granted} s when asked to keep it '
                f'for {self.whole_ttl} s',
                f'Set [membership] member_ttl to {self._granted} or more',
            )

    def join(
        self, coordinator: Any, group: bytes, data: Mapping[str, str]
    ) -> None:
        """Skip tooz, which reads all members first, with all their data."""
        if not etcd_members.put(coordinator, group, data):
            raise coordination.GroupNotCreated(group)

    def leave(self, coordinator: Any, group: bytes) -> None:
        key = coordinator._prefix_group(group) + coordinator._member_id
        coordinator.client.delete(key)

    def disconnect(self, coordinator: Any) -> None:
        coordinator.client.session.close()

    def reader(
        self, coordinator: Any, group: bytes, parse: members.Parse
    ) -> members.Reader:
        return etcd_members.MemberReader(
            coordinator.client, coordinator._prefix_group(group), parse
        )

    def watcher(self, coordinator: Any, group: bytes) -> driver.Watcher:
        return etcd_members.ChangeStream(
            coordinator.client,
            coordinator._prefix_group(group),
            timeout=(self.request_timeout, self.ttl),
            turn_from=self._servers.turn_from,
        )


LOG = log.getLogger(__name__)

_PORT = 2379

_NO_LEADER = frozenset({503, 504})
"""Answers of a server that reaches no leader."""

_NOT_LOGGED_IN = (
    'invalid auth token',
    'user name is empty',
    'revision of auth store is old',
)


class Servers:
    """The addresses of one etcd, shared by all clients of a driver.

    Threading: any.

    :param addresses: as ``host:port``; without a port, etcd's own.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = [
            one if urllib.parse.urlsplit(f'//{one}').port else f'{one}:{_PORT}'
            for one in addresses
        ]
        self._number = 0
        self._lock = threading.Lock()

    @property
    def current(self) -> str:
        return self.addresses[self._number]

    def turn_from(self, server: str) -> None:
        """Use the next server, unless another call has done so already."""
        with self._lock:
            if self.current == server:
                self._number = (self._number + 1) % len(self.addresses)


_Send = Callable[..., requests.Response]


@dataclasses.dataclass(eq=False)
class Login:
    """The login of one user, shared by all clients: etcd makes it costly.

    :param user: name and password.
    :ivar token: ``None`` before the login, empty if etcd has no users.
    """

    user: tuple[str, str]
    token: str | None = dataclasses.field(init=False, default=None)

    def send(
        self, request: requests.PreparedRequest, send: _Send
    ) -> requests.Response:
        """Send a request as the user; a refused login is an answer, too."""
        # Again, because tokens expire, and servers that were emptied know
        # none.
        for is_needed in (self.token is None, True):
            refusal = self._log_in(request, send) if is_needed else None
            if refusal is not None:
                return refusal
            # A request that is repeated still has the old token.
            request.headers.pop('Authorization', None)
            if self.token:
                request.headers['Authorization'] = self.token
            answer = send(request)
            if answer.ok or not any(t in answer.text for t in _NOT_LOGGED_IN):
                break
            answer.close()
        return answer

    def _log_in(
        self, request: requests.PreparedRequest, send: _Send
    ) -> requests.Response | None:
        """Get a token; return the answer if the server refuses."""
        asked = request.copy()
        asked.headers.pop('Authorization', None)
        version = request.path_url.split('/')[1]
        asked.url = urllib.parse.urljoin(
            str(request.url), f'/{version}/auth/authenticate'
        )
        name, password = self.user
        body = {'name': name, 'password': password}
        asked.prepare_body(None, None, json=body)
        # The request may be a watch, of which no answer is read to its end.
        answer = send(asked, stream=False)
        if answer.ok:
            self.token = str(answer.json()['token'])
            return None
        if 'authentication is not enabled' not in answer.text:
            return answer
        if self.token != '':
            # An operator may configure the services first.
            LOG.warning(
                'backend tooz: etcd ignores user and password: its '
                'authentication is not enabled'
            )
        self.token = ''
        return None


class Adapter(requests.adapters.HTTPAdapter):
    """Sends requests to a server that answers, as a user if there is one.

    :param patience: seconds in which the servers are tried.
    """

    def __init__(
        self, servers: Servers, login: Login | None, patience: float
    ) -> None:
        super().__init__()
        self._servers = servers
        self._login = login
        self._patience = patience

    def send(  # type: ignore[override]  # a session names them
        self, request: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        send = functools.partial(super().send, **options)
        ends = time.monotonic() + self._patience
        remaining = len(self._servers.addresses)
        while True:
            server = self._servers.current
            remaining -= 1
            try:
                answer = self._send_to(server, request, send)
            # Any request may be repeated: the keys of a member are its own,
            # and an unused lease expires.
            except (requests.ConnectionError, requests.Timeout):
                self._servers.turn_from(server)
                if not remaining or time.monotonic() > ends:
                    raise
                continue
            if answer.status_code not in _NO_LEADER:
                return answer
            self._servers.turn_from(server)
            if not remaining or time.monotonic() > ends:
                return answer
            answer.close()

    def _send_to(
        self, server: str, request: requests.PreparedRequest, send: _Send
    ) -> requests.Response:
        parts = urllib.parse.urlsplit(str(request.url))
        request.url = parts._replace(netloc=server).geturl()
        # The version is read before the path of the login is known.
        if self._login is None or request.path_url == '/version':
            return send(request)
        return self._login.send(request, send)
