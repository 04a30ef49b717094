"""Errors in JSON, in one form.

The codes are those of the command line. An unexpected error is logged under
the request id, and the client receives that id only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import exceptions

CODES: Mapping[int, str] = {
    400: 'invalid_request',
    401: 'unauthenticated',
    403: 'forbidden',
    404: 'not_found',
    405: 'method_not_allowed',
    406: 'not_acceptable',
    413: 'too_large',
    415: 'unsupported_media_type',
    500: 'error',
    503: 'unavailable',
}
"""The codes of errors of WSGI layers, by their statuses."""

SECRET = frozenset(('configuration', 'policy_settings', 'error'))
"""Codes whose message may quote the configuration: for the log only."""

SCHEMA: Mapping[str, Any] = {
    'type': 'object',
    'description': 'Any error.',
    'required': ['error'],
    'additionalProperties': False,
    'properties': {
        'error': {
            'type': 'object',
            'required': ['code', 'message', 'hint', 'request_id'],
            'additionalProperties': False,
            'properties': {
                'code': {
                    'type': 'string',
                    'description': 'Reason code, stable.',
                },
                'message': {
                    'type': 'string',
                    'description': 'The fault, in words.',
                },
                'hint': {
                    'type': 'string',
                    'description': 'A remedy; may be empty.',
                },
                'request_id': {
                    'type': 'string',
                    'description': 'The id of the request in the log.',
                },
                'details': {
                    'type': 'object',
                    'description': 'Details for programs, by code: '
                    'gates_failed the "nodes" and the "gates", no_match how '
                    'many nodes each condition "removed", out_of_service the '
                    '"needed" conductors.',
                },
            },
        }
    },
}


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
    if error.code in SECRET:
        return unexpected(request_id, error.code)
    # The text alone: the hint has its own place.
    message = str(error.args[0]) if error.args else ''
    return form(
        error.code,
        message,
        error.hint,
        request_id,
        error.details,
    )


def unexpected(request_id: str, code: str = 'error') -> dict[str, Any]:
    """Return the body for an error that only the operator can resolve."""
    return form(
        code,
        'the service failed',
        f'Its log has the reason, under {request_id}',
        request_id,
    )
