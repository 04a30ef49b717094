"""The servers of an etcd: fail-over between them, and the login.

The client of etcd3gw knows one server. This adapter of its HTTP session sends
each request to the server that answered last, and to the next one when it
does not answer or has no leader.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import urllib.parse
from collections.abc import Sequence
from typing import Any

import requests
import requests.adapters
from oslo_log import log

LOG = log.getLogger(__name__)

_PORT = 2379

_NO_LEADER = frozenset({503, 504})
"""Answers of a server that reaches no leader."""

_NOT_LOGGED_IN = (
    'invalid auth token',
    'user name is empty',
    'revision of auth store is old',
)


@dataclasses.dataclass(eq=False)
class Servers:
    """The addresses of one etcd, shared by all clients of a driver.

    Threading: any.

    :param addresses: as ``host:port``; without a port, etcd's own.
    """

    addresses: Sequence[str]
    _number: int = dataclasses.field(init=False, default=0)
    _lock: threading.Lock = dataclasses.field(
        init=False, default_factory=threading.Lock
    )

    def __post_init__(self) -> None:
        self.addresses = [_with_port(one) for one in self.addresses]

    @property
    def current(self) -> str:
        return self.addresses[self._number]

    def turn_from(self, server: str) -> None:
        """Use the next server, unless another call has done so already."""
        with self._lock:
            if self.current == server:
                self._number = (self._number + 1) % len(self.addresses)


@dataclasses.dataclass(eq=False)
class Login:
    """The login of one user, shared by all clients: etcd makes it costly.

    :param user: name and password.
    :ivar token: ``None`` before the login, empty if etcd has no users.
    """

    user: tuple[str, str]
    token: str | None = dataclasses.field(init=False, default=None)

    def body(self) -> dict[str, str]:
        name, password = self.user
        return {'name': name, 'password': password}

    def take(self, answer: requests.Response) -> bool:
        """Keep the token of an answer; ``False`` if it is a refusal."""
        if answer.ok:
            self.token = str(answer.json()['token'])
            return True
        if 'authentication is not enabled' not in answer.text:
            return False
        if self.token != '':
            # An operator may configure the services first.
            LOG.warning(
                'backend tooz: etcd ignores user and password: its '
                'authentication is not enabled'
            )
        self.token = ''
        return True


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

    def send(
        self, request: requests.PreparedRequest, *args: Any, **options: Any
    ) -> requests.Response:
        ends = time.monotonic() + self._patience
        remaining = len(self._servers.addresses)
        while True:
            server = self._servers.current
            remaining -= 1
            try:
                answer = self._send_to(server, request, *args, **options)
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
        self,
        server: str,
        request: requests.PreparedRequest,
        *args: Any,
        **options: Any,
    ) -> requests.Response:
        request.url = _at(server, request)
        login = self._login
        # The version is read before the path of the login is known.
        if login is None or request.path_url == '/version':
            return super().send(request, *args, **options)
        if login.token is None:
            refusal = self._log_in(login, request, *args, **options)
            if refusal is not None:
                return refusal
        answer = self._send_as_user(login, request, *args, **options)
        if answer.ok or not _needs_login(answer):
            return answer
        # Tokens expire, and servers that were emptied know none.
        answer.close()
        refusal = self._log_in(login, request, *args, **options)
        if refusal is not None:
            return refusal
        return self._send_as_user(login, request, *args, **options)

    def _send_as_user(
        self,
        login: Login,
        request: requests.PreparedRequest,
        *args: Any,
        **options: Any,
    ) -> requests.Response:
        # A request that is repeated still has the old token.
        request.headers.pop('Authorization', None)
        if login.token:
            request.headers['Authorization'] = login.token
        return super().send(request, *args, **options)

    def _log_in(
        self,
        login: Login,
        request: requests.PreparedRequest,
        *args: Any,
        **options: Any,
    ) -> requests.Response | None:
        """Get a token; return the answer if the server refuses."""
        asked = request.copy()
        asked.headers.pop('Authorization', None)
        version = request.path_url.split('/')[1]
        asked.url = _at(
            urllib.parse.urlsplit(str(request.url)).netloc,
            request,
            f'/{version}/auth/authenticate',
        )
        asked.prepare_body(None, None, json=login.body())
        # The request may be a watch, of which no answer is read to its end.
        answer = super().send(asked, *args, **{**options, 'stream': False})
        return None if login.take(answer) else answer


def _at(
    server: str, request: requests.PreparedRequest, path: str | None = None
) -> str:
    parts = urllib.parse.urlsplit(str(request.url))
    return parts._replace(netloc=server, path=path or parts.path).geturl()


def _needs_login(answer: requests.Response) -> bool:
    return any(words in answer.text for words in _NOT_LOGGED_IN)


def _with_port(address: str) -> str:
    parts = urllib.parse.urlsplit(f'//{address}')
    return address if parts.port else f'{address}:{_PORT}'
