"""One request to Placement's API: its answer, or one of the contracts' errors.

Knows versions, faults and what is not Placement at all; knows nothing of
inventories. A request is sent again once when the connection fails, as a
kept connection that the server has closed looks like that; whatever is sent
here may be sent twice. It is never sent again because of a status: who asked
tries again later.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients import response_text, session
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests
    from openstack import connection as sdk

LOG = log.getLogger(__name__)

MICROVERSION = '1.36'
"""Of Train: error codes (1.23), and all of an inventory reserved (1.26)."""

ENDPOINT_HINT = (
    "Let [placement] endpoint_override be the URL of Placement's API, such "
    'as http://placement.example.org:8778'
)
_HINTS = {
    401: 'Check the credentials in [placement]',
    403: 'The user in [placement] needs the role service or admin',
    406: f'Placement has to speak microversion {MICROVERSION}',
}
_MAY_PASS = frozenset((408, 425, 429))
_VERSION_HEADER = 'OpenStack-API-Version'


class NoProviderFault(exceptions.PlacementError):
    """Placement itself says that it does not have the provider named."""


class ConcurrentUpdateFault(exceptions.PlacementError):
    """The provider's generation is no longer the one that was sent."""


class DuplicateFault(exceptions.PlacementError):
    """There is a provider with that uuid, or with that name, already."""


class PlacementAPI:
    """Placement's API at one microversion.

    :param connection: of openstacksdk; nothing is sent before it is needed.
    :param request_id: "req-" and a uuid, for the server's log.
    """

    def __init__(
        self, connection: sdk.Connection, request_id: str | None = None
    ) -> None:
        self._request_id = request_id
        # Not connection.placement, which begins with discovery.
        self._adapter = connection.config.get_session_client('placement')
        self._adapter._connection = connection

    def send(
        self,
        method: str,
        path: str,
        *,
        about: str | None = None,
        body: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send one request.

        :param about: uuid of the provider that the request names, if any.
        :returns: the JSON of the answer; empty if there is none.
        :raises NoProviderFault: if Placement does not have that provider.
        :raises ConcurrentUpdateFault: if another writer came between.
        :raises DuplicateFault: if what is to be created is there.
        :raises ProviderInUseError: if an allocation is in the way.
        :raises PlacementRefusedError: if it will not have what was sent.
        :raises PlacementUnavailableError: if it may work later.
        :raises PlacementError: if it will not.
        """
        from keystoneauth1 import exceptions as ksa

        try:
            answer = self._request(method, path, body)
        except (ksa.ConnectionError, ksa.HttpServerError) as exc:
            raise _connection_error(exc) from exc
        except ksa.ClientException as exc:
            raise exceptions.PlacementError(
                f'Placement cannot be asked: {response_text.one_line(exc)}',
                hint='Check auth_type, the credentials and '
                'endpoint_override in [placement]',
            ) from exc
        except OSError as exc:
            raise exceptions.PlacementError(
                f'Placement cannot be asked: {response_text.one_line(exc)}',
                hint='Check cafile, certfile and keyfile in [placement]',
            ) from exc
        LOG.debug('%s %s: %s', method, path, answer.status_code)
        return _judged(answer, about)

    def _request(
        self, method: str, path: str, body: dict[str, Any] | None
    ) -> requests.Response:
        return session.send(
            self._adapter,
            method,
            path,
            json=body,
            microversion=MICROVERSION,
            global_request_id=self._request_id,
        )


def _judged(answer: requests.Response, about: str | None) -> dict[str, Any]:
    """Return the JSON of a good answer, and raise any other."""
    if answer.status_code not in (200, 201, 204):
        raise _status_error(answer, about)
    if not _is_signed(answer):
        raise exceptions.PlacementError(
            f'What answers to {response_text.url(answer)} is not Placement: '
            'it does not name its API version',
            hint=ENDPOINT_HINT,
        )
    if not answer.content:
        return {}
    try:
        data = json.loads(answer.content)
    except (ValueError, RecursionError) as exc:
        raise _not_placement(answer) from exc
    if not isinstance(data, dict):
        raise _not_placement(answer)
    return data


def _status_error(
    answer: requests.Response, about: str | None
) -> exceptions.PlacementError:
    status = answer.status_code
    code, text = _fault(answer)
    message = (
        f'Placement answered {status} to {answer.request.method} '
        f'{response_text.url(answer)}: {(text or answer.reason or "")[:300]}'
    )
    if status >= 500 or status in _MAY_PASS:
        return exceptions.PlacementUnavailableError(message)
    if (
        status == 404
        and about is not None
        and _is_signed(answer)
        # A proxy's 404 must never make a provider look deleted.
        and about.lower() in text.lower()
    ):
        return NoProviderFault(f'Placement does not have provider {about}')
    if status == 409 and code == 'placement.concurrent_update':
        return ConcurrentUpdateFault(message)
    if status == 409 and code == 'placement.duplicate_name':
        return DuplicateFault(message)
    if status == 409 and code.endswith('.inuse'):
        return exceptions.ProviderInUseError(message)
    if status in (400, 409) and code.startswith('placement.'):
        return exceptions.PlacementRefusedError(message)
    return exceptions.PlacementError(
        message, hint=_HINTS.get(status, ENDPOINT_HINT)
    )


def _is_signed(answer: requests.Response) -> bool:
    named = answer.headers.get(_VERSION_HEADER, '')
    return named.startswith('placement ')


def _fault(answer: requests.Response) -> tuple[str, str]:
    """Return code and text of Placement's fault; empty if it is none."""
    try:
        error = json.loads(answer.content)['errors'][0]
        return str(error.get('code') or ''), ' '.join(
            str(error.get('detail') or '').split()
        )
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ):
        return '', ''


def _not_placement(answer: requests.Response) -> exceptions.PlacementError:
    return exceptions.PlacementError(
        f'The answer to {response_text.url(answer)} is no JSON object but '
        f'{response_text.kind(answer)}',
        hint=ENDPOINT_HINT,
    )


def _connection_error(exc: Exception) -> exceptions.PlacementError:
    from keystoneauth1 import exceptions as ksa

    if isinstance(exc, ksa.SSLError):
        return exceptions.PlacementError(
            'No secure connection to Placement: '
            f'{response_text.one_line(exc)}',
            hint='Let [placement] cafile name the certificate of its '
            'authority',
        )
    return exceptions.PlacementUnavailableError(
        f'Placement does not answer: {response_text.unanswered(exc)}'
    )
