"""One request to Ironic's API: its JSON, or one of the contracts' errors.

Knows versions, faults and what is not Ironic at all; knows nothing of nodes.

A request is tried again once, after half a second, when the connection fails
(a kept connection that the server has closed looks like that), and never
because of a status: keystoneauth would sleep as long as ``Retry-After`` says,
and openstacksdk 15 seconds. Who asked tries again later. Redirects are not
followed, because keystoneauth drops the filters from them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests
    from openstack import connection as sdk

LOG = log.getLogger(__name__)

Params = Sequence[tuple[str, str]]

FIELDS_FILTER = 8
"""Minor version since which a request can name the fields it wants."""

NEWEST_NEEDED = 82
"""Minor version that knows every field and filter that is used here."""

_ENDPOINT_HINT = (
    "Let [ironic] endpoint_override be the URL of Ironic's API, such as "
    'http://ironic.example.org:6385'
)
_HINTS = {
    401: 'Check the credentials in [ironic]',
    403: 'The user in [ironic] needs the system-scoped reader role',
    404: _ENDPOINT_HINT,
    406: 'Was Ironic downgraded? The next request asks for its versions',
}
_VERSION_HEADER = 'X-OpenStack-Ironic-API-Version'
_MAY_PASS = frozenset((408, 425, 429))


class NotFoundFault(exceptions.IronicError):
    """Ironic itself says that it does not have the node that was named."""


class IronicAPI:
    """Ironic's API, with the version that both sides speak.

    :param connection: of openstacksdk; nothing is sent before it is needed.
    """

    def __init__(self, connection: sdk.Connection) -> None:
        self._connection = connection
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
        document = self._json(answer, '/')
        prefix, low, high = _versions(document, answer.headers)
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
        if about is not None and _says_not_found(answer, about):
            raise NotFoundFault(f'Ironic does not have the node {about}')
        return self._json(answer, path)

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
    ) -> requests.Response:
        import openstack.exceptions
        from keystoneauth1 import exceptions as ksa

        started = time.monotonic()
        try:
            answer: requests.Response = self._connection.baremetal.get(
                path,
                params=list(params),
                headers={'Accept': 'application/json'},
                microversion=None if minor is None else f'1.{minor}',
                global_request_id=request_id,
                raise_exc=False,
                redirect=False,
                connect_retries=1,
                status_code_retries=0,
                log=False,
            )
        except (ksa.ConnectionError, ksa.HttpServerError) as exc:
            raise _connection_error(exc) from exc
        except (
            ksa.ClientException,
            openstack.exceptions.SDKException,
        ) as exc:
            raise exceptions.IronicError(
                f'Ironic cannot be asked: {_one_line(exc)}',
                hint=_ENDPOINT_HINT
                + ', and check auth_type and the credentials',
            ) from exc
        LOG.debug(
            'GET %s %s: %s, %s bytes, %.3f s, %s',
            path,
            params,
            answer.status_code,
            len(answer.content),
            time.monotonic() - started,
            request_id,
        )
        return answer

    def _json(self, answer: requests.Response, path: str) -> dict[str, Any]:
        if answer.status_code != 200:
            if answer.status_code == 406:
                self._prefix = None
            raise _status_error(answer, path)
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError) as exc:
            raise _not_ironic(answer, path, 'no JSON') from exc
        if not isinstance(data, dict):
            raise _not_ironic(answer, path, 'no JSON object')
        return data


def _versions(
    document: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[str, int, int]:
    """Read the prefix of the API, and the lowest and highest minor version.

    The document is that of the root, or of ``/v1`` itself.
    """
    if document.get('id') == 'v1':
        prefix, version = '', document.get('version')
    else:
        prefix, version = '/v1', document.get('default_version')
    entry = version if isinstance(version, dict) else {}
    low = _minor(
        headers.get('X-OpenStack-Ironic-API-Minimum-Version')
        or entry.get('min_version')
    )
    high = _minor(
        headers.get('X-OpenStack-Ironic-API-Maximum-Version')
        or entry.get('version')
    )
    if low is None or high is None:
        raise exceptions.IronicError(
            'What answers in the place of Ironic does not say which API '
            'versions it speaks',
            hint=_ENDPOINT_HINT,
        )
    return prefix, low, high


def _minor(version: object) -> int | None:
    found = re.fullmatch(r'1\.([0-9]+)', str(version))
    return int(found[1]) if found else None


def _says_not_found(answer: requests.Response, uuid: str) -> bool:
    """Tell Ironic's own "no such node" from every other 404."""
    return (
        answer.status_code == 404
        and _VERSION_HEADER in answer.headers
        and uuid.lower() in _fault(answer).lower()
    )


def _fault(answer: requests.Response) -> str:
    """Return the text of Ironic's fault; empty if the body is no fault."""
    try:
        message = json.loads(answer.content)['error_message']
        if isinstance(message, str):
            message = json.loads(message)
        return str(message.get('faultstring') or message.get('description'))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ''


def _status_error(
    answer: requests.Response, path: str
) -> exceptions.IronicError:
    status = answer.status_code
    text = _fault(answer) or answer.reason or ''
    message = f'Ironic answered {status} to GET {path}: {text[:300]}'
    if status >= 500 or status in _MAY_PASS:
        return exceptions.IronicUnavailableError(message)
    if 300 <= status < 400:
        place = answer.headers.get('Location', 'nowhere')
        return exceptions.IronicError(
            f'{answer.url.partition("?")[0]} redirects to {place}',
            hint=_ENDPOINT_HINT,
        )
    return exceptions.IronicError(message, hint=_HINTS.get(status, ''))


def _not_ironic(
    answer: requests.Response, path: str, what: str
) -> exceptions.IronicError:
    kind = answer.headers.get('Content-Type', 'unknown type')
    return exceptions.IronicError(
        f'The answer to GET {path} is {what} but {len(answer.content)} bytes '
        f'of {kind}',
        hint=_ENDPOINT_HINT,
    )


def _connection_error(exc: Exception) -> exceptions.IronicError:
    from keystoneauth1 import exceptions as ksa

    if isinstance(exc, ksa.SSLError):
        return exceptions.IronicError(
            f'No secure connection to Ironic: {_one_line(exc)}',
            hint='Let [ironic] cafile name the certificate of its authority',
        )
    return exceptions.IronicUnavailableError(
        f'Ironic does not answer: {_one_line(exc)}'
    )


def _one_line(exc: Exception) -> str:
    return ' '.join(str(exc).split())[:300]
