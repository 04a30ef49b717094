"""Schemas of requests and answers about reservations."""

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
            'description': 'Empty, as in Nova for no swap, is 0.',
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
    'description': 'Accepted as part of a flavor, and ignored.',
}


def _or_null(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {
        **schema,
        'type': [schema['type'], 'null'],
        'description': description,
    }


BODY = {
    'type': 'object',
    'required': ['instance_uuid', 'service'],
    'additionalProperties': False,
    'properties': {
        'instance_uuid': {
            **_UUID,
            'description': 'Uuid of the instance.',
        },
        'service': {
            **schemas.HOST,
            'description': 'The service that will own the node.',
        },
        'resource_class': _or_null(schemas.WORDS, 'Exactly as in Ironic.'),
        'traits': {**_TRAITS, 'description': 'Required traits.'},
        'forbidden_traits': {
            **_TRAITS,
            'description': 'Traits that the node must not have.',
        },
        'memory_mb': {**_AMOUNT, 'description': 'In MB.'},
        'vcpus': {**_AMOUNT, 'description': 'Number of processors.'},
        'root_gb': {**_AMOUNT, 'description': 'In GB.'},
        'ephemeral_gb': {**_AMOUNT, 'description': 'In GB, in addition.'},
        'swap': {**_AMOUNT, 'description': 'In MB, in addition.'},
        'vcpu_weight': _IGNORED,
        'rxtx_factor': _IGNORED,
        'extra_specs': {
            **_VALUES,
            'description': 'Of the flavor: trait:NAME, resources:CLASS, '
            'capabilities:NAME with operators such as ">= 2".',
        },
        'image': {
            'type': ['object', 'null'],
            'description': 'The image to deploy.',
            'additionalProperties': False,
            'properties': {
                'id': _or_null(schemas.WORDS, 'Stored, and ignored.'),
                'properties': _VALUES,
            },
        },
        'node': _or_null(
            schemas.WORDS, 'Uuid or name of the only acceptable node.'
        ),
        'dry_run': {
            'type': 'boolean',
            'description': 'Only return the nodes that fit.',
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
        'description': 'When it expires unless confirmed; null for never.',
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
