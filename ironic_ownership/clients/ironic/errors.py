"""Errors for Ironic's answers; sends nothing.

Separates Ironic's own errors from those of a proxy or another server, and
temporary errors from lasting ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ironic_ownership.clients import transport
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    import requests

IRONIC = transport.Service(
    'Ironic',
    'ironic',
    'http://ironic.example.org:6385',
    exceptions.IronicError,
    exceptions.IronicUnavailableError,
)
_WRITER_HINT = (
    'To reserve nodes, the user in [ironic] needs the system-scoped member '
    'role, or the service role; to set shards, the system-scoped admin role'
)
_HINTS = {
    400: '',
    401: 'Check the credentials in [ironic]',
    403: 'The user in [ironic] needs the system-scoped reader role',
    406: 'Was Ironic downgraded? The next request reads its versions again',
    409: '',
}
_VERSION_HEADER = 'X-OpenStack-Ironic-API-Version'


class NotFoundError(exceptions.IronicError):
    """Ironic itself reports that the object does not exist."""


class ConflictError(exceptions.IronicError):
    """Ironic itself answered 409: another object or a lock is in the way."""


class BadRequestError(exceptions.IronicError):
    """Ironic itself answered 400: it does not accept the request."""


_WRITE_ERRORS: Mapping[int, type[exceptions.IronicError]] = {
    400: BadRequestError,
    409: ConflictError,
}


def unusable(what: str) -> exceptions.IronicError:
    """Return the error of an answer that is none of a kind."""
    return exceptions.IronicError(f"Ironic's answer is not {what}")


def code_of(answer: requests.Response) -> str | None:
    """Return the reason code in an error of the middleware."""
    try:
        message = json.loads(answer.content)['error_message']
        return str(json.loads(message)['code'])
    except transport.ODD:
        return None


def _error_text(answer: requests.Response) -> str:
    try:
        message = json.loads(answer.content)['error_message']
        if isinstance(message, str):
            message = json.loads(message)
        text = message.get('faultstring') or message.get('description') or ''
        return ' '.join(str(text).split())
    except transport.ODD:
        return ''


def status_error(
    answer: requests.Response, about: str | None = None
) -> exceptions.IronicError:
    """Return the error for an answer with a status other than 200.

    :param about: uuid of the object that the request names, if any. Ironic's
        own "no such node" is separated from every other 404.
    """
    found = _error_of(answer)
    # A proxy, a wrong path or another service must never make a node look
    # deleted: Ironic sends its version and names the node in its error.
    if _VERSION_HEADER not in answer.headers:
        return found
    if answer.status_code == 404 and about is not None:
        if about.lower() in _error_text(answer).lower():
            return NotFoundError(f'Ironic does not have {about}')
    elif answer.request.method != 'GET':
        refusal = _WRITE_ERRORS.get(answer.status_code)
        return found if refusal is None else refusal(str(found))
    return found


def _error_of(answer: requests.Response) -> exceptions.IronicError:
    status = answer.status_code
    text = _error_text(answer) or answer.reason or ''
    message = (
        f'Ironic answered {status} to {transport.request_line(answer)}: '
        f'{text[:300]}'
    )
    if transport.may_pass(status):
        return exceptions.IronicUnavailableError(message)
    if 300 <= status < 400:
        place = answer.headers.get('Location', 'nowhere')
        return exceptions.IronicError(
            f'{transport.url(answer)} redirects to {place}',
            hint=IRONIC.endpoint_hint,
        )
    if status == 403 and answer.request.method != 'GET':
        return exceptions.IronicError(message, hint=_WRITER_HINT)
    return exceptions.IronicError(
        message, hint=_HINTS.get(status, IRONIC.endpoint_hint)
    )
