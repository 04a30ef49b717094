"""One request to Ironic's API: its JSON, or one of the contracts' errors.

Knows versions, faults and what is not Ironic at all; knows nothing of nodes.

A request is tried again once, at once, when the connection fails: a kept
connection that the server has closed looks like that. It is never tried again
after a time-out or because of a status: keystoneauth would sleep as long as
``Retry-After`` says, and openstacksdk 15 seconds. Who asked tries again later.
Redirects are not followed, because keystoneauth drops the filters from them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients import response_text, session
from ironic_ownership.clients.ironic import errors, versions
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests
    from openstack import connection as sdk

LOG = log.getLogger(__name__)

Params = Sequence[tuple[str, str]]

FIELDS_FILTER = 8
"""Minor version since which a request can name the fields it wants."""

NEWEST_NEEDED = 83
"""Minor version that knows every field and filter that is used here."""


class NotFoundFault(exceptions.IronicError):
    """Ironic itself says that it does not have what was named."""


class ConflictFault(exceptions.IronicError):
    """Ironic itself says 409: something else is in the way, or a lock is."""


class RefusedFault(exceptions.IronicError):
    """Ironic itself says 400: it does not take what was sent."""


class IronicAPI:
    """Ironic's API, with the version that both sides speak.

    :param connection: of openstacksdk; nothing is sent before it is needed.
    """

    def __init__(self, connection: sdk.Connection) -> None:
        # Not connection.baremetal, which begins with discovery.
        self._adapter = connection.config.get_session_client('baremetal')
        self._adapter._connection = connection
        self._prefix: str | None = None
        self._minor = 0
        self._server_maximum = 0

    def negotiate(self) -> None:
        """Ask which versions the server speaks, and where its API begins.

        :raises IronicError: if what answers is not Ironic.
        :raises IronicTooOldError: if it cannot list only what is needed.
        """
        self._prefix = None
        answer = self._send('/', (), None, None)
        document = self._json(answer)
        prefix, low, high = versions.read(document, answer.headers)
        self._server_maximum = high
        self._minor = max(low, min(high, NEWEST_NEEDED))
        self.require(FIELDS_FILTER, 'list only the fields that are needed')
        self._prefix = prefix
        LOG.debug(
            'Ironic speaks 1.%s to 1.%s, used is 1.%s', low, high, self._minor
        )

    @property
    def minor(self) -> int:
        """The minor version that requests use."""
        self._ready()
        return self._minor

    def require(self, minor: int, what: str) -> None:
        """Refuse a server that is too old for something.

        :param minor: the minor version that is needed.
        :param what: what it is needed for.
        :raises IronicTooOldError: naming both versions.
        """
        if self._server_maximum < minor:
            self._prefix = None  # it may be upgraded until the next request
            raise exceptions.IronicTooOldError(
                f'Ironic cannot {what}: that needs API version 1.{minor}, '
                f'the server has 1.{self._server_maximum} at most',
                hint='Upgrade Ironic, or remove the option that needs it',
            )

    def get(
        self,
        path: str,
        params: Params = (),
        *,
        about: str | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Send one GET.

        :param path: what follows ``/v1``.
        :param about: uuid of the node that the request names, if any.
        :param request_id: "req-" and a uuid, for the server's log.
        :raises NotFoundFault: if Ironic does not have that node.
        :raises IronicUnavailableError: if it may work later.
        :raises IronicError: if it will not.
        """
        path = self._ready() + path
        answer = self._send(path, params, self._minor, request_id)
        if about is not None and errors.says_not_found(answer, about):
            raise NotFoundFault(f'Ironic does not have {about}')
        return self._json(answer)

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        about: str | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Send one request that changes something.

        It is sent again once if the connection fails, so it may arrive
        twice: what is sent here has to stand that.

        :param path: what follows ``/v1``.
        :param body: what becomes its JSON.
        :param about: uuid of what the request names, if any.
        :returns: the JSON of the answer; empty if it has none.
        :raises NotFoundFault: if Ironic does not have that.
        :raises ConflictFault: if Ironic answers 409.
        :raises RefusedFault: if Ironic answers 400.
        :raises IronicUnavailableError: if it may work later; it may have
            been done all the same.
        :raises IronicError: if it will not.
        """
        path = self._ready() + path
        answer = self._send(
            path, (), self._minor, request_id, method=method, body=body
        )
        if about is not None and errors.says_not_found(answer, about):
            raise NotFoundFault(f'Ironic does not have {about}')
        fault = _WRITE_FAULTS.get(answer.status_code)
        if fault is not None and errors.is_signed(answer):
            raise fault(str(errors.status_error(answer)))
        if answer.status_code in _DONE and not answer.content:
            return {}
        return self._json(answer, _DONE)

    def _ready(self) -> str:
        if self._prefix is None:
            self.negotiate()
        return self._prefix or ''

    def _send(
        self,
        path: str,
        params: Params,
        minor: int | None,
        request_id: str | None,
        *,
        method: str = 'GET',
        body: Any = None,
    ) -> requests.Response:
        from keystoneauth1 import exceptions as ksa

        started = time.monotonic()
        try:
            answer = self._request(
                method, path, params, minor, request_id, body
            )
        except (ksa.ConnectionError, ksa.HttpServerError) as exc:
            raise errors.connection_error(exc) from exc
        except ksa.ClientException as exc:
            raise exceptions.IronicError(
                f'Ironic cannot be asked: {response_text.one_line(exc)}',
                hint='Check auth_type, the credentials and '
                'endpoint_override in [ironic]',
            ) from exc
        except OSError as exc:
            raise exceptions.IronicError(
                f'Ironic cannot be asked: {response_text.one_line(exc)}',
                hint='Check cafile, certfile and keyfile in [ironic]',
            ) from exc
        LOG.debug(
            '%s %s %s: %s, %s bytes, %.3f s, %s',
            method,
            path,
            params,
            answer.status_code,
            len(answer.content),
            time.monotonic() - started,
            request_id,
        )
        return answer

    def _request(
        self,
        method: str,
        path: str,
        params: Params,
        minor: int | None,
        request_id: str | None,
        body: Any,
    ) -> requests.Response:
        return session.send(
            self._adapter,
            method,
            path,
            params=list(params),
            json=body,
            microversion=None if minor is None else f'1.{minor}',
            global_request_id=request_id,
        )

    def _json(
        self, answer: requests.Response, good: Collection[int] = (200,)
    ) -> dict[str, Any]:
        if answer.status_code not in good:
            if answer.status_code == 406:
                self._prefix = None
            raise errors.status_error(answer)
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError) as exc:
            raise errors.not_ironic(answer, 'no JSON') from exc
        if not isinstance(data, dict):
            raise errors.not_ironic(answer, 'no JSON object')
        return data


_DONE = (200, 201, 202, 204)
_WRITE_FAULTS: Mapping[int, type[exceptions.IronicError]] = {
    400: RefusedFault,
    409: ConflictFault,
}
