"""Errors in JSON: one form, and a status by the reason code.

The codes are those of the command line. An unexpected error is logged under
the request id, and the client receives that id only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironic_ownership.api import errors as api_errors
from ironic_ownership.contracts import exceptions

STATUSES: Mapping[str, int] = {
    # What was asked
    'impossible_scenario': 400,
    'invalid_request': 400,
    'unauthenticated': 401,
    'forbidden': 403,
    'not_found': 404,
    'method_not_allowed': 405,
    'not_acceptable': 406,
    'too_large': 413,
    'unsupported_media_type': 415,
    # A gate, or a state that does not allow it: exit code 3
    'allocation_conflict': 409,
    'allocation_in_use': 409,
    'fenced': 409,
    'gates_failed': 409,
    'no_match': 409,
    'not_owner': 409,
    'out_of_service': 409,
    'provider_in_use': 409,
    'reservation_conflict': 409,
    'service_in_use': 409,
    'service_refused': 409,
    'standby': 409,
    'wrong_scope': 409,
    # What does not answer: it may, later
    'backend_unavailable': 503,
    'busy': 503,
    'ironic_unavailable': 503,
    'membership': 503,
    'not_member': 503,
    'placement_unavailable': 503,
    'provider_busy': 503,
    'records_unavailable': 503,
    'reservation_unfinished': 503,
    'schema': 503,
    # What answers, and is of no use
    'ironic': 502,
    'ironic_too_old': 502,
    'no_provider': 502,
    'placement': 502,
    'placement_refused': 502,
    # What is wrong here
    'configuration': 500,
    'error': 500,
    'plugin': 500,
    'plugin_fault': 500,
    'policy_settings': 500,
    'records': 500,
}
"""The status of each reason code; public, as the codes are."""

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
"""The code of what WSGI layers answer, which know statuses alone."""

SECRET = frozenset(('configuration', 'policy_settings', 'error'))
"""Codes whose message may quote the configuration: for the log alone."""

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
                    'description': 'What is wrong, for people.',
                },
                'hint': {
                    'type': 'string',
                    'description': 'What can be done about it; may be empty.',
                },
                'request_id': {
                    'type': 'string',
                    'description': 'Under which the log has it.',
                },
                'details': {
                    'type': 'object',
                    'description': 'What some codes say for programs: '
                    'gates_failed the "nodes" and the "gates", no_match how '
                    'many nodes each condition "removed", out_of_service the '
                    '"needed" conductors.',
                },
            },
        }
    },
}


class UnsupportedMediaTypeError(exceptions.OwnershipError):
    """The client sent something other than JSON."""

    code = 'unsupported_media_type'


class ForbiddenError(exceptions.OwnershipError):
    """The rules of access do not allow it to this client."""

    code = 'forbidden'


def status(error: exceptions.OwnershipError) -> int:
    """Return the status of an answer that tells of this error."""
    return STATUSES.get(error.code, 500)


def form(
    code: str,
    message: str,
    hint: str,
    request_id: str,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body of an answer that tells of an error."""
    said = ' '.join(message.split())
    return {
        'error': {
            'code': code,
            'message': said,
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
        api_errors.details_of(error),
    )


def unexpected(request_id: str, code: str = 'error') -> dict[str, Any]:
    """Return the body for what the client can do nothing about."""
    return form(
        code,
        'the service failed',
        f'Its log tells why, under {request_id}',
        request_id,
    )
