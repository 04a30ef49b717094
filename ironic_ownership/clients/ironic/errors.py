"""What Ironic's answers mean when they are not what was asked for.

Tells Ironic's own faults from those of whatever else may answer in its place,
and what may pass from what will not. Sends nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ironic_ownership.clients import response_text
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests

ENDPOINT_HINT = (
    "Let [ironic] endpoint_override be the URL of Ironic's API, such as "
    'http://ironic.example.org:6385'
)
_WRITER_HINT = (
    'To reserve nodes, the user in [ironic] needs the system-scoped member '
    'role, or the service role'
)
_HINTS = {
    400: '',
    401: 'Check the credentials in [ironic]',
    403: 'The user in [ironic] needs the system-scoped reader role',
    406: 'Was Ironic downgraded? The next request asks for its versions',
    409: '',
}
_VERSION_HEADER = 'X-OpenStack-Ironic-API-Version'
_MAY_PASS = frozenset((408, 425, 429))


def says_not_found(answer: requests.Response, uuid: str) -> bool:
    """Tell Ironic's own "no such node" from every other 404.

    A proxy, a wrong path or another service must never make a node look
    deleted: Ironic signs with its version and names the node in its fault.
    """
    return (
        answer.status_code == 404
        and is_signed(answer)
        and uuid.lower() in _fault(answer).lower()
    )


def is_signed(answer: requests.Response) -> bool:
    """Tell whether Ironic itself answered, and not what stands before it."""
    return _VERSION_HEADER in answer.headers


def _fault(answer: requests.Response) -> str:
    """Return the text of Ironic's fault; empty if the body is no fault."""
    try:
        message = json.loads(answer.content)['error_message']
        if isinstance(message, str):
            message = json.loads(message)
        text = message.get('faultstring') or message.get('description') or ''
        return ' '.join(str(text).split())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ''


def status_error(answer: requests.Response) -> exceptions.IronicError:
    """Return the error for an answer with a status other than 200."""
    status = answer.status_code
    text = _fault(answer) or answer.reason or ''
    message = f'Ironic answered {status} to {_asked(answer)}: {text[:300]}'
    if status >= 500 or status in _MAY_PASS:
        return exceptions.IronicUnavailableError(message)
    if 300 <= status < 400:
        place = answer.headers.get('Location', 'nowhere')
        return exceptions.IronicError(
            f'{response_text.url(answer)} redirects to {place}',
            hint=ENDPOINT_HINT,
        )
    if status == 403 and answer.request.method != 'GET':
        return exceptions.IronicError(message, hint=_WRITER_HINT)
    return exceptions.IronicError(
        message, hint=_HINTS.get(status, ENDPOINT_HINT)
    )


def not_ironic(answer: requests.Response, what: str) -> exceptions.IronicError:
    """Return the error for an answer that Ironic would not give."""
    return exceptions.IronicError(
        f'The answer to {_asked(answer)} is {what} but '
        f'{response_text.kind(answer)}',
        hint=ENDPOINT_HINT,
    )


def connection_error(exc: Exception) -> exceptions.IronicError:
    """Return the error for a request that got no answer."""
    from keystoneauth1 import exceptions as ksa

    if isinstance(exc, ksa.SSLError):
        return exceptions.IronicError(
            f'No secure connection to Ironic: {response_text.one_line(exc)}',
            hint='Let [ironic] cafile name the certificate of its authority',
        )
    return exceptions.IronicUnavailableError(
        f'Ironic does not answer: {response_text.unanswered(exc)}'
    )


def _asked(answer: requests.Response) -> str:
    return f'{answer.request.method or "GET"} {response_text.url(answer)}'
