"""Requests to Placement's API, at one microversion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients import transport
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import adapter as ksa_adapter

LOG = log.getLogger(__name__)

MICROVERSION = '1.36'
"""Of Train: error codes (1.23), and all of an inventory reserved (1.26)."""

PLACEMENT = transport.Service(
    'Placement',
    'placement',
    'http://placement.example.org:8778',
    exceptions.PlacementError,
    exceptions.PlacementUnavailableError,
)
_HINTS = {
    401: 'Check the credentials in [placement]',
    403: 'The user in [placement] needs the role service or admin',
    406: f'Placement has to speak microversion {MICROVERSION}',
}
_VERSION_HEADER = 'OpenStack-API-Version'


class ProviderNotFoundError(exceptions.PlacementError):
    """Placement itself reports that it does not have the provider."""


class ConcurrentUpdateError(exceptions.PlacementError):
    """The provider's generation is no longer the one that was sent."""


class DuplicateProviderError(exceptions.PlacementError):
    """A provider with that uuid or that name exists already."""


def send(
    adapter: ksa_adapter.Adapter,
    request_id: str | None,
    method: str,
    path: str,
    *,
    about: str | None = None,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Send one request. It may arrive twice.

    :param request_id: "req-" and a uuid, for the server's log.
    :param about: uuid of the provider that the request names, if any.
    :returns: the JSON of the answer; empty if there is none.
    :raises ProviderNotFoundError: if Placement does not have it.
    :raises ConcurrentUpdateError: if another client wrote in between.
    :raises DuplicateProviderError: if the new provider exists.
    :raises ProviderInUseError: if an allocation is in the way.
    :raises PlacementRefusedError: if it does not accept the request.
    :raises PlacementUnavailableError: if it may work later.
    :raises PlacementError: if it will not.
    """
    answer = PLACEMENT.send(
        adapter,
        method,
        path,
        json=body,
        microversion=MICROVERSION,
        global_request_id=request_id,
    )
    LOG.debug('%s %s: %s', method, path, answer.status_code)
    if answer.status_code not in (200, 201, 204):
        raise _status_error(answer, about)
    if not _is_placement(answer):
        raise exceptions.PlacementError(
            f'The server at {transport.url(answer)} is not Placement: its '
            'answer does not name an API version',
            hint=PLACEMENT.endpoint_hint,
        )
    return PLACEMENT.json(answer) if answer.content else {}


def _status_error(
    answer: requests.Response, about: str | None
) -> exceptions.PlacementError:
    status = answer.status_code
    code, text = _code_and_text(answer)
    message = (
        f'Placement answered {status} to {transport.request_line(answer)}: '
        f'{(text or answer.reason or "")[:300]}'
    )
    if transport.may_pass(status):
        return exceptions.PlacementUnavailableError(message)
    if (
        status == 404
        and about is not None
        and _is_placement(answer)
        # A proxy's 404 must never make a provider look deleted.
        and about.lower() in text.lower()
    ):
        return ProviderNotFoundError(
            f'Placement does not have provider {about}'
        )
    if status == 409 and code == 'placement.concurrent_update':
        return ConcurrentUpdateError(message)
    if status == 409 and code == 'placement.duplicate_name':
        return DuplicateProviderError(message)
    if status == 409 and code.endswith('.inuse'):
        return exceptions.ProviderInUseError(message)
    if status in (400, 409) and code.startswith('placement.'):
        return exceptions.PlacementRefusedError(message)
    return exceptions.PlacementError(
        message, hint=_HINTS.get(status, PLACEMENT.endpoint_hint)
    )


def _is_placement(answer: requests.Response) -> bool:
    named = answer.headers.get(_VERSION_HEADER, '')
    return named.startswith('placement ')


def _code_and_text(answer: requests.Response) -> tuple[str, str]:
    try:
        error = json.loads(answer.content)['errors'][0]
        return str(error.get('code') or ''), ' '.join(
            str(error.get('detail') or '').split()
        )
    except transport.ODD:
        return '', ''
