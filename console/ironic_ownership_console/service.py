"""Client of the HTTP service of ironic-ownership."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import cookiejar
from typing import Any

import requests

_TIMEOUT = 120.0
"""Seconds: a full check of many nodes takes a minute."""


class ServiceError(Exception):
    """The HTTP service refused a request, or does not answer.

    :ivar status: of the answer; 502 without one.
    :ivar hint: what to do about it; may be empty.
    :ivar details: of a refusal, as the service sends them.
    """

    def __init__(
        self, status: int, message: str, hint: str = '', details: Any = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint
        self.details = details


class Service:
    """The HTTP service.

    :param endpoint: its URL.
    :param session: replaces the connections.
    """

    def __init__(
        self, endpoint: str, session: requests.Session | None = None
    ) -> None:
        self.endpoint = endpoint.rstrip('/')
        self._session = session or requests.Session()
        # A cookie would be of one person, and the connections are of all.
        none = cookiejar.DefaultCookiePolicy(allowed_domains=())
        self._session.cookies.set_policy(none)

    def call(
        self,
        token: str,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Any:
        """Send one request, and return the answer.

        :param token: empty without Keystone.
        :raises ServiceError: if it is refused, or there is no answer.
        """
        try:
            answer = self._session.request(
                method,
                f'{self.endpoint}{path}',
                params={
                    k: str(v).lower() if isinstance(v, bool) else v
                    for k, v in (query or {}).items()
                },
                json=body,
                headers={'X-Auth-Token': token} if token else {},
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
            found = answer.json() if answer.content else {}
        except (requests.RequestException, ValueError) as exc:
            raise ServiceError(
                502,
                f'ironic-ownership-api does not answer: {type(exc).__name__}',
                f'Make sure that it runs at {self.endpoint}',
            ) from exc
        if answer.status_code >= 300:
            raise _error(answer.status_code, found)
        return found

    def get(self, token: str, path: str, **query: Any) -> Any:
        """Read a resource; parameters that are empty are left out."""
        given = {k: v for k, v in query.items() if v not in (None, '')}
        return self.call(token, 'GET', path, query=given)

    def pages(
        self, token: str, path: str, key: str, **query: Any
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the pages of a list."""
        found = self.get(token, path, **query)
        while True:
            yield found[key]
            if not found['next']:
                return
            _, _, following = found['next'].partition('?')
            found = self.call(token, 'GET', f'{path}?{following}')


def _error(status: int, body: Any) -> ServiceError:
    error = body.get('error') if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ServiceError(status, f'the service answered {status}')
    return ServiceError(
        status,
        str(error.get('message', '')),
        str(error.get('hint') or ''),
        error.get('details'),
    )
