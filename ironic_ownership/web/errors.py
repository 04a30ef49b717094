"""Errors in JSON, in one form.

The codes are those of the command line. An unexpected error is logged under
the request id, and the client receives that id only.
"""

from __future__ import annotations

import http
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import webob
from oslo_log import log
from oslo_middleware.request_id import ENV_REQUEST_ID

from ironic_ownership.api import schemas
from ironic_ownership.clients import transport
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CODES: Mapping[int, str] = {
    400: 'invalid_request',
    401: 'unauthenticated',
    403: 'forbidden',
    404: 'not_found',
    405: 'method_not_allowed',
    413: 'too_large',
    503: 'unavailable',
}
"""The codes of errors of WSGI layers, by their statuses."""

_ERROR = schemas.body(
    {
        'code': schemas.described(schemas.TEXT, 'Reason code, stable.'),
        'message': schemas.described(schemas.TEXT, 'The fault, in words.'),
        'hint': schemas.described(schemas.TEXT, 'A remedy; may be empty.'),
        'request_id': schemas.described(
            schemas.TEXT, 'The id of the request in the log.'
        ),
        'details': schemas.described(
            schemas.THING,
            'Details for programs, by code: gates_failed the "nodes" and the '
            '"gates", no_match how many nodes each condition "removed", '
            'out_of_service the "needed" conductors.',
        ),
    },
    ['code', 'message', 'hint', 'request_id'],
)
SCHEMA = schemas.described(schemas.thing(error=_ERROR), 'Any error.')


class UnsupportedMediaTypeError(exceptions.OwnershipError):
    """The body is not JSON."""

    code = 'unsupported_media_type'
    http_status = 415


class ForbiddenError(exceptions.OwnershipError):
    """The access rules do not allow the operation to the client."""

    code = 'forbidden'
    http_status = 403


def form(
    code: str,
    message: str,
    hint: str,
    request_id: str,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body for an error."""
    return {
        'error': {
            'code': code,
            'message': ' '.join(message.split()),
            'hint': hint,
            'request_id': request_id,
            **({'details': details} if details else {}),
        }
    }


def form_of(
    error: exceptions.OwnershipError, request_id: str
) -> dict[str, Any]:
    """Return the body for one of our own errors."""
    if error.code in exceptions.SECRET:
        return unexpected(request_id, error.code)
    # The text alone: the hint has its own place.
    message = str(error.args[0]) if error.args else ''
    return form(error.code, message, error.hint, request_id, error.details)


def unexpected(request_id: str, code: str = 'error') -> dict[str, Any]:
    """Return the body for an error that only the operator can resolve."""
    return form(
        code,
        'the service failed',
        f'Its log has the reason, under {request_id}',
        request_id,
    )


LOG = log.getLogger(__name__)

FORMED = 'ironic_ownership.formed'
"""The key in the environment of a request whose answer has the form."""

_HINTS = {
    401: 'Send a valid token of Keystone in the header X-Auth-Token; or user '
    'and password, where the service runs with auth_strategy = http_basic',
    404: 'GET /openapi.json shows all paths. The URL of the service does not '
    'end with /v1',
    413: 'Send less, or raise [oslo_middleware] max_request_body_size',
}
_KEPT = frozenset(('allow', 'www-authenticate', 'retry-after'))


def one_form(below: WSGIApplication) -> WSGIApplication:
    """Return an application in which all errors of layers have the form."""

    def answer(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            status, headers, body = webob.Request(environ).call_application(
                below
            )
        except Exception as exc:  # the outermost layer: logged once
            if transport.timed_out(exc):
                LOG.error(
                    'Keystone does not answer: %s', transport.one_line(exc)
                )
                return _formed(environ, 503, [])(environ, start_response)
            LOG.exception('a layer of the HTTP service failed')
            return _formed(environ, 500, [])(environ, start_response)
        if int(status[:3]) < 400 or environ.get(FORMED):
            start_response(status, headers)
            return cast('Iterable[bytes]', body)
        if hasattr(body, 'close'):
            body.close()
        formed = _formed(environ, int(status[:3]), headers)
        return formed(environ, start_response)

    return answer


def _formed(
    environ: WSGIEnvironment, status: int, headers: list[tuple[str, str]]
) -> WSGIApplication:
    phrase = http.HTTPStatus(status).phrase
    request_id = environ.get(ENV_REQUEST_ID, '')
    answer = (
        unexpected(request_id)
        if status == http.HTTPStatus.INTERNAL_SERVER_ERROR
        else form(
            CODES.get(status, 'error'),
            phrase,
            _HINTS.get(status, ''),
            request_id,
        )
    )
    kept = [(k, v) for k, v in headers if k.lower() in _KEPT]
    formed: WSGIApplication = webob.Response(
        json.dumps(answer).encode(),
        f'{status} {phrase}',
        [*kept, ('Content-Type', 'application/json')],
    )
    return formed
