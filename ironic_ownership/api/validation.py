"""Validation of requests by their JSON Schemas.

All faults of a value are reported together, each with its place. The HTTP
service and the client in the same process refuse the same.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.api.schemas import Schema
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.texts import listed

if TYPE_CHECKING:
    import jsonschema

_LONGEST = 80


@functools.cache
def _validator() -> Any:
    # Imported late: only commands with a body pay for the library.
    import jsonschema

    def pattern(
        validator: Any, pattern: str, value: Any, schema: Schema
    ) -> Iterator[jsonschema.ValidationError]:
        # Each pattern is of the whole text. The "$" of JSON Schema is its
        # end, that of Python also matches before a last line feed.
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            meaning = schema.get('description', '')
            yield jsonschema.ValidationError(
                f'{value!r} does not match {pattern} {meaning}'.rstrip(' .')
            )

    return jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {'pattern': pattern}
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
    found = sorted(
        _validator()(schema).iter_errors(value), key=lambda e: e.json_path
    )
    return [_sentence(error, where) for error in found]


def _sentence(error: jsonschema.ValidationError, where: str) -> str:
    place = where + error.json_path.removeprefix('$')
    if error.validator in ('oneOf', 'anyOf'):
        text = error.schema.get('description', 'matches no alternative')
        inside = listed([_sentence(one, where) for one in _inside(error)])
        return f'{place}: {text}; {inside}' if inside else f'{place}: {text}'
    text = error.message
    if len(text) > _LONGEST * 3:
        text = f'{text[:_LONGEST]} ... {text[-_LONGEST:]}'
    if error.validator in ('maxItems', 'maxLength'):
        text = f'{text}: at most {error.validator_value}'
    return f'{place}: {text}'


def _inside(
    error: jsonschema.ValidationError,
) -> list[jsonschema.ValidationError]:
    """Return the faults of values, if one alternative is the nearest."""
    found = collections.defaultdict(list)
    for one in error.context:
        found[one.relative_schema_path[0]].append(one)
    near = [some for some in found.values() if all(f.path for f in some)]
    fewest = min(map(len, near), default=0)
    nearest = [some for some in near if len(some) == fewest]
    return nearest[0] if len(nearest) == 1 else []
