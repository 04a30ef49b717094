"""Schemas of requests and answers about reservations."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.contracts import reservation_validation
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


BODY = schemas.body(
    {
        'instance_uuid': schemas.described(_UUID, 'Uuid of the instance.'),
        'service': schemas.described(
            schemas.HOST, 'The service that will own the node.'
        ),
        'resource_class': _or_null(schemas.WORDS, 'Exactly as in Ironic.'),
        'traits': schemas.described(_TRAITS, 'Required traits.'),
        'forbidden_traits': schemas.described(
            _TRAITS, 'Traits that the node must not have.'
        ),
        'memory_mb': schemas.described(_AMOUNT, 'In MB.'),
        'vcpus': schemas.described(_AMOUNT, 'Number of processors.'),
        'root_gb': schemas.described(_AMOUNT, 'In GB.'),
        'ephemeral_gb': schemas.described(_AMOUNT, 'In GB, in addition.'),
        'swap': schemas.described(_AMOUNT, 'In MB, in addition.'),
        'vcpu_weight': _IGNORED,
        'rxtx_factor': _IGNORED,
        'extra_specs': schemas.described(
            _VALUES,
            'Of the flavor: trait:NAME, resources:CLASS, '
            'capabilities:NAME with operators such as ">= 2".',
        ),
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
        'dry_run': schemas.described(
            schemas.FLAG, 'Only return the nodes that fit.'
        ),
    },
    ['instance_uuid', 'service'],
)

_TYPES: schemas.Types = {
    'id': schemas.TEXT,
    'instance_uuid': schemas.TEXT,
    'service': schemas.TEXT,
    'node_uuid': schemas.TEXT_OR_NULL,
    'state': schemas.codes(ReservationState),
    'confirmed': schemas.FLAG,
    'created_at': schemas.TEXT_OR_NULL,
    'expires_at': schemas.described(
        schemas.TEXT_OR_NULL,
        'When it expires unless confirmed; null for never.',
    ),
    'updated_at': schemas.TEXT_OR_NULL,
    'method': schemas.TEXT,
    'detail': schemas.TEXT_OR_NULL,
    'creator': schemas.described(
        schemas.TEXT_OR_NULL, 'Actor of the request; null if not on record.'
    ),
    'request': schemas.THING,
    'fitting': schemas.NUMBER,
    'candidates': schemas.TEXTS,
    'examined': schemas.NUMBER,
    'removed': schemas.described(
        schemas.THING, 'Number of nodes that each condition removed.'
    ),
}

LISTED = schemas.thing(columns.RESERVATION, _TYPES)
DETAILS = schemas.thing(columns.DETAILS, _TYPES)
EITHER = {'oneOf': [DETAILS, schemas.thing(columns.CHOICE, _TYPES)]}
