"""Validation of values by the schemas of the operations.

All faults are reported together, each with its place. The HTTP service and
the client in the same process refuse the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema

from ironic_ownership.api.operation import Schema
from ironic_ownership.contracts import exceptions

_LONGEST = 80


def _pattern(
    validator: Any, pattern: str, value: Any, schema: Schema
) -> Iterator[jsonschema.ValidationError]:
    # Each pattern is of the whole text. The "$" of JSON Schema is its end,
    # that of Python also matches before a last line feed.
    if isinstance(value, str) and not re.fullmatch(pattern, value):
        meaning = schema.get('description', '')
        yield jsonschema.ValidationError(
            f'{value!r} does not match {pattern} {meaning}'.rstrip(' .')
        )


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {'pattern': _pattern}
)


def check(value: Any, schema: Schema, where: str) -> None:
    """Refuse a value that its schema does not allow.

    :param where: the place of the value, for the error.
    :raises RequestError: listing everything that is wrong.
    """
    refuse(faults(value, schema, where))


def refuse(found: Sequence[str]) -> None:
    """Refuse a request with these faults.

    :raises RequestError: if there are any.
    """
    if found:
        raise exceptions.RequestError(
            list(dict.fromkeys(found)),
            hint='GET /openapi.json describes requests',
        )


def faults(value: Any, schema: Schema, where: str) -> list[str]:
    """Return everything that is wrong with a value."""
    validator = _Validator(schema)
    found = sorted(validator.iter_errors(value), key=lambda e: e.json_path)
    return [_sentence(error, where) for error in found]


def _sentence(error: jsonschema.ValidationError, where: str) -> str:
    place = where + error.json_path.removeprefix('$')
    if error.validator in ('oneOf', 'anyOf'):
        text = error.schema.get('description', 'matches no alternative')
        return f'{place}: {text}'
    text = error.message
    if len(text) > _LONGEST * 3:
        text = f'{text[:_LONGEST]} ... {text[-_LONGEST:]}'
    return f'{place}: {text}'
