"""Schemas of requests and answers about reservations."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.schemas import TEXT_OR_NULL
from ironic_ownership.contracts import reservation_validation
from ironic_ownership.contracts.reservations import (
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.reservations.selection import Choice
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns

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

RESERVATION: Columns[Reservation] = (
    Column('id'),
    Column('instance_uuid'),
    Column('service', 'host'),
    Column('node_uuid', type=TEXT_OR_NULL),
    Column('state', 'state.value', schemas.codes(ReservationState)),
    Column('confirmed', type=schemas.FLAG),
    Column('created_at', lambda r: columns.moment(r.created_at), TEXT_OR_NULL),
    Column(
        'expires_at',
        lambda r: columns.moment(r.expires_at),
        TEXT_OR_NULL,
        'When it expires unless confirmed; null for never.',
    ),
)
DETAILED: Columns[Reservation] = (
    *RESERVATION,
    Column('updated_at', lambda r: columns.moment(r.updated_at), TEXT_OR_NULL),
    Column('method'),
    Column('detail', type=TEXT_OR_NULL),
    Column(
        'creator',
        type=TEXT_OR_NULL,
        help='Actor of the request; null if not on record.',
    ),
    Column('request', lambda r: r.request.to_mapping(), schemas.THING),
)
CHOICE: Columns[Choice] = (
    Column('fitting', type=schemas.NUMBER),
    Column(
        'candidates',
        lambda c: [node.uuid for node in c.candidates],
        schemas.TEXTS,
    ),
    Column('examined', type=schemas.NUMBER),
    Column(
        'removed',
        lambda c: dict(c.removed),
        schemas.THING,
        'Number of nodes that each condition removed.',
    ),
)
"""Result of a dry run of a request."""

LISTED = schemas.thing(RESERVATION)
DETAILS = schemas.thing(DETAILED)
EITHER = {'oneOf': [DETAILS, schemas.thing(CHOICE)]}
