"""What is sent and answered about reservations, as schemas."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.contracts import allocations, reservation_validation
from ironic_ownership.contracts.reservations import ReservationState
from ironic_ownership.observe import reservation as columns

_UUID = {
    'type': 'string',
    'pattern': '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
}
_AMOUNT = {
    'anyOf': [
        {
            'type': 'integer',
            'minimum': 0,
            'maximum': reservation_validation.MAX_AMOUNT,
        },
        {
            'type': 'string',
            'description': 'As Nova writes no swap.',
            'pattern': '^[0-9]{0,9}$',
        },
        {'type': 'null'},
    ]
}
_TRAITS = {
    'type': ['array', 'null'],
    'items': {'type': 'string', 'pattern': '^[A-Z0-9_]{1,255}$'},
    'maxItems': 1000,
}
_VALUES = {
    'type': ['object', 'null'],
    'maxProperties': 1000,
    'propertyNames': schemas.WORDS,
    'additionalProperties': {
        'type': ['string', 'integer', 'boolean'],
        'maxLength': reservation_validation.MAX_TEXT,
        'pattern': r'^[^\x00-\x1f\x7f]*$',
    },
}
_IGNORED = {
    'type': ['number', 'null'],
    'description': 'Taken as a part of a flavor; without effect.',
}


def _or_null(schema: dict[str, Any], said: str) -> dict[str, Any]:
    return {**schema, 'type': [schema['type'], 'null'], 'description': said}


BODY = {
    'type': 'object',
    'required': ['instance_uuid', 'service'],
    'additionalProperties': False,
    'properties': {
        'instance_uuid': {
            **_UUID,
            'description': 'Of the instance that the node is for.',
        },
        'service': {
            **schemas.HOST,
            'description': 'The service that is to own the node.',
        },
        'resource_class': _or_null(
            schemas.WORDS, "Ironic's name of it, exactly."
        ),
        'traits': {**_TRAITS, 'description': 'All that the node has to have.'},
        'forbidden_traits': {
            **_TRAITS,
            'description': 'None of them the node may have.',
        },
        'memory_mb': {**_AMOUNT, 'description': 'In MB.'},
        'vcpus': {**_AMOUNT, 'description': 'Number of processors.'},
        'root_gb': {**_AMOUNT, 'description': 'In GB.'},
        'ephemeral_gb': {**_AMOUNT, 'description': 'In GB, besides.'},
        'swap': {**_AMOUNT, 'description': 'In MB, besides.'},
        'vcpu_weight': _IGNORED,
        'rxtx_factor': _IGNORED,
        'extra_specs': {
            **_VALUES,
            'description': 'Of the flavor: trait:NAME, resources:CLASS, '
            'capabilities:NAME with operators such as ">= 2".',
        },
        'image': {
            'type': ['object', 'null'],
            'description': 'The image that is to be deployed.',
            'additionalProperties': False,
            'properties': {
                'id': _or_null(schemas.WORDS, 'Kept; nothing depends on it.'),
                'properties': _VALUES,
            },
        },
        'node': _or_null(
            schemas.WORDS, 'Uuid or name of the one node that will do.'
        ),
        'dry_run': {
            'type': 'boolean',
            'description': 'Only say which nodes would do.',
        },
    },
}

_TYPES: schemas.Types = {
    'id': schemas.TEXT,
    'instance_uuid': schemas.TEXT,
    'service': schemas.TEXT,
    'node_uuid': schemas.TEXT_OR_NULL,
    'state': {
        'type': 'string',
        'enum': [state.value for state in ReservationState],
    },
    'confirmed': schemas.FLAG,
    'created_at': schemas.TEXT_OR_NULL,
    'expires_at': {
        **schemas.TEXT_OR_NULL,
        'description': 'When it ends, unless it is confirmed; null if never.',
    },
    'updated_at': schemas.TEXT_OR_NULL,
    'method': {
        'type': 'string',
        'enum': [method.value for method in allocations.Method],
    },
    'detail': schemas.TEXT_OR_NULL,
    'request': schemas.THING,
    'fitting': schemas.NUMBER,
    'candidates': schemas.TEXTS,
    'examined': schemas.NUMBER,
    'removed': {
        **schemas.THING,
        'description': 'Number of nodes that each condition removed.',
    },
}

LISTED = schemas.thing(columns.RESERVATION, _TYPES)
DETAILS = schemas.thing(columns.DETAILS, _TYPES)
EITHER = {'oneOf': [DETAILS, schemas.thing(columns.CHOICE, _TYPES)]}
