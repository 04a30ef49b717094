"""One request to a service: its answer, or one of the contracts' errors.

A request is sent again once, immediately, when the connection fails: a kept
connection that the server has closed looks like that. It is never sent again
after a time-out or because of a status: keystoneauth would sleep as long as
``Retry-After`` asks for. The caller retries later. Redirects are not followed,
because keystoneauth drops the query from them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.calls import pending

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import adapter as ksa_adapter

_UNLIMITED = contextlib.nullcontext()
"""Replaces keystoneauth's limiter of each request's rate. That one limits
nothing here, but uses the wall clock: after the clock was set back by an hour
it would hold every request for an hour."""

_MAY_PASS = frozenset((408, 425, 429))
_LONGEST = 300


@dataclasses.dataclass(frozen=True)
class Service:
    """A service, as errors name it.

    :param group: its group of the configuration.
    :param error: class of the errors that last.
    :param unavailable: class of the errors that may pass.
    """

    name: str
    group: str
    example: str
    error: type[exceptions.OwnershipError]
    unavailable: type[exceptions.OwnershipError]

    @property
    def endpoint_hint(self) -> str:
        return (
            f'Set [{self.group}] endpoint_override to the URL of '
            f"{self.name}'s API, such as {self.example}"
        )

    def send(
        self, adapter: Any, method: str, path: str, **how: Any
    ) -> requests.Response:
        """Send one request, and return every answer regardless of its status.

        It may arrive twice, so it has to be harmless to repeat.

        :param adapter: keystoneauth's, of this service.
        :raises OwnershipError: ``unavailable`` without an answer, ``error``
            if the configuration makes one impossible.
        """
        from keystoneauth1 import exceptions as ksa

        name = 'Keystone'
        try:
            # Apart, so that an outage has the name of its server.
            with pending.to(name):
                _twice(adapter.session.get_auth_headers)
            name = self.name
            with pending.to(name):
                return _send(adapter, method, path, **how)
        except ksa.SSLError as exc:
            raise self.error(
                f'No secure connection to {name}: {one_line(exc)}',
                hint=f'Set [{self.group}] cafile to the certificate of its '
                'authority',
            ) from exc
        except (ksa.ConnectionError, ksa.HttpServerError) as exc:
            raise self.unavailable(
                f'{name} does not answer: {first_cause(exc)}'
            ) from exc
        except (ksa.ClientException, OSError) as exc:
            wrong = (
                'auth_type, the credentials and endpoint_override'
                if isinstance(exc, ksa.ClientException)
                else 'cafile, certfile and keyfile'
            )
            raise self.error(
                f'The request to {name} failed: {one_line(exc)}',
                hint=f'Check {wrong} in [{self.group}]',
            ) from exc

    def json(self, answer: requests.Response) -> dict[str, Any]:
        """Return the JSON object in an answer.

        :raises OwnershipError: ``error`` if it holds anything else.
        """
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise self.error(
                f'The answer to {request_line(answer)} is not a JSON object '
                f'but {body_summary(answer)}',
                hint=self.endpoint_hint,
            )
        return data


class API:
    """Requests to one server; nothing is sent before the first.

    :param request_id: "req-" and a uuid, for the server's log.
    """

    def __init__(
        self, adapter: ksa_adapter.Adapter, request_id: str | None = None
    ) -> None:
        self._adapter = adapter
        self._request_id = request_id


def may_pass(status: int) -> bool:
    """Tell whether a later request may get another status."""
    return status >= 500 or status in _MAY_PASS


def request_line(answer: requests.Response) -> str:
    """Return method and URL of an answered request, without its query."""
    return f'{answer.request.method or "GET"} {url(answer)}'


def url(answer: requests.Response) -> str:
    """Return the URL of an answered request, without its query."""
    return texts.without_credentials(str(answer.url).partition('?')[0])


def body_summary(answer: requests.Response) -> str:
    """Return size and type of a body that cannot be read."""
    media_type = answer.headers.get('Content-Type', 'unknown type')
    return f'{len(answer.content)} bytes of {media_type}'


def _send(
    adapter: Any, method: str, path: str, **how: Any
) -> requests.Response:
    answer: requests.Response = _twice(
        lambda: adapter.request(
            path,
            method,
            headers={'Accept': 'application/json'},
            raise_exc=False,
            redirect=False,
            connect_retries=0,
            status_code_retries=0,
            rate_semaphore=_UNLIMITED,
            log=False,
            **how,
        )
    )
    return answer


def _twice(call: Callable[[], Any]) -> Any:
    from keystoneauth1 import exceptions as ksa

    try:
        return call()
    except ksa.ConnectFailure:
        return call()


def one_line(exc: BaseException) -> str:
    """Return the text of an error on one line, not too long."""
    text = texts.without_credentials(' '.join(str(exc).split()))
    return text[:_LONGEST]


def first_cause(exc: BaseException) -> str:
    """Return the text of an error, and of its first cause.

    keystoneauth's error wraps those of requests, urllib3 and the socket, and
    repeats the URL with its query.
    """
    what = one_line(exc).split(': ')[0].split('?')[0]
    cause = exc
    while deeper := cause.__cause__ or cause.__context__:
        cause = deeper
    return f'{what}: {texts.without_credentials(str(cause))}'
