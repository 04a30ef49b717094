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
    # The request
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
    'impossible_scenario': 409,
    'no_match': 409,
    'not_owner': 409,
    'other_instance': 409,
    'out_of_service': 409,
    'provider_in_use': 409,
    'reservation_conflict': 409,
    'service_in_use': 409,
    'service_refused': 409,
    'standby': 409,
    'wrong_scope': 409,
    # An outage: a later attempt may succeed
    'backend_fault': 503,
    'backend_unavailable': 503,
    'busy': 503,
    'ironic_unavailable': 503,
    'membership': 503,
    'not_member': 503,
    'notifications_unavailable': 503,
    'placement_unavailable': 503,
    'provider_busy': 503,
    'records_unavailable': 503,
    'reservation_unfinished': 503,
    'schema': 503,
    'source': 503,
    # An unusable answer
    'ironic': 502,
    'ironic_too_old': 502,
    'no_provider': 502,
    'placement': 502,
    'placement_refused': 502,
    # A fault of this service
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


class ForbiddenError(exceptions.OwnershipError):
    """The access rules do not allow the operation to the client."""

    code = 'forbidden'


def status(error: exceptions.OwnershipError) -> int:
    """Return the status for an error."""
    return STATUSES.get(error.code, 500)


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
        api_errors.details_of(error),
    )


def unexpected(request_id: str, code: str = 'error') -> dict[str, Any]:
    """Return the body for an error that only the operator can resolve."""
    return form(
        code,
        'the service failed',
        f'Its log has the reason, under {request_id}',
        request_id,
    )
