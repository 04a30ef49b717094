"""JSON Schemas of answers, made from the columns that show them.

A column without a type may hold any value: the document is then vague, and
never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ironic_ownership.api import operation
from ironic_ownership.observe import columns

ANYTHING: Mapping[str, Any] = {}
TEXT = {'type': 'string'}
TEXT_OR_NULL = {'type': ['string', 'null']}
NUMBER = {'type': 'integer', 'minimum': 0}
FLAG = {'type': 'boolean'}
FLAG_OR_NULL = {'type': ['boolean', 'null']}
TEXTS = {'type': 'array', 'items': TEXT}
THING = {'type': 'object'}
THINGS = {'type': 'array', 'items': THING}
THING_OR_NULL = {'type': ['object', 'null']}

UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
UUID = {'type': 'string', 'pattern': UUID_PATTERN}
REQUEST_ID = {'type': 'string', 'pattern': f'^req-{UUID_PATTERN[1:]}'}
HOST = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': r'^[^/\x00-\x20\x7f]+$',
}
KEY = HOST
"""A text that names one resource in a path: an id or a name."""

NAME = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': r'^[^\x00-\x1f\x7f]+$',
}
_CONTROL = r'\x00-\x1f\x7f'
_BLANK = (
    r'\x00-\x20\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f'
    r'\u205f\u3000\ufeff'
)
WORDS = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 255,
    'pattern': f'^[^{_BLANK}][^{_CONTROL}]*$',
}
"""A text that is not blank and does not begin with a blank."""

GROUP = {
    'type': 'string',
    'maxLength': 255,
    'pattern': r'^[^\x00-\x1f\x7f]*$',
}

Types = Mapping[str, operation.Schema]


def thing(
    of: Iterable[columns.Column[Any]], types: Types, **more: operation.Schema
) -> dict[str, Any]:
    """Return the schema of an object that these columns show.

    :param types: schemas by key of a column.
    :param more: further keys.
    """
    properties = {
        key: dict(types.get(key, ANYTHING)) for key in columns.keys(of)
    } | more
    return {
        'type': 'object',
        'required': list(properties),
        'additionalProperties': False,
        'properties': properties,
    }


def page(
    key: str, item: operation.Schema, **more: operation.Schema
) -> dict[str, Any]:
    """Return the schema of a page of a list.

    :param key: under which the items are.
    """
    properties = {
        key: {'type': 'array', 'items': item},
        'next': {
            'type': ['string', 'null'],
            'description': 'Path and query of the next page; null at the end.',
        },
        'warnings': WARNINGS,
        **more,
    }
    return {
        'type': 'object',
        'required': [*properties],
        'additionalProperties': False,
        'properties': properties,
    }


WARNINGS = {
    **TEXTS,
    'description': 'What could not be read: the answer is incomplete. '
    'Mostly empty.',
}
NOTES = {
    **TEXTS,
    'description': 'Remarks on a complete answer. Mostly empty.',
}


def cells(of: Iterable[columns.Column[Any]], one: Any) -> dict[str, Any]:
    """Return the cells of one object by key."""
    return columns.cells(of, one)
