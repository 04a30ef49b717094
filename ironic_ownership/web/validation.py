"""Values of a request, from the texts of HTTP, validated by their schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import werkzeug.datastructures

from ironic_ownership.api import operation
from ironic_ownership.api.validation import check, faults, refuse
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import errors

_INTEGER = re.compile('-?[0-9]{1,18}')
_FLAGS = {'true': True, 'false': False}


def query(
    sent: werkzeug.datastructures.MultiDict[str, str],
    known: Sequence[operation.Parameter],
) -> dict[str, Any]:
    """Return the values of a query by the names of its parameters.

    :raises RequestError: listing everything that is wrong.
    """
    parameters = {parameter.name: parameter for parameter in known}
    found = [
        f'{name!r} is not a parameter: there are {", ".join(parameters)}'
        if parameters
        else f'{name!r}: there are no parameters'
        for name in sent
        if name not in parameters
    ]
    values: dict[str, Any] = {}
    for name in sent:
        if name in parameters:
            schema = parameters[name].schema
            value = _read(sent.getlist(name), schema)
            found += faults(value, schema, name)
            values[name] = value
    refuse(found)
    return values


def path(
    sent: Mapping[str, str], known: Sequence[operation.Parameter]
) -> dict[str, str]:
    """Return the values of a path by the names of its parameters.

    :raises RequestError: listing everything that is wrong.
    """
    found: list[str] = []
    for parameter in known:
        found += faults(sent[parameter.name], parameter.schema, 'path')
    refuse(found)
    return dict(sent)


def body(data: bytes, media_type: str, schema: operation.Schema) -> Any:
    """Return a body that was sent as JSON.

    :raises UnsupportedMediaTypeError: if its type is another one.
    :raises RequestError: listing everything that is wrong.
    """
    # A page in a browser cannot send JSON without a check of its origin.
    if media_type != 'application/json':
        raise errors.UnsupportedMediaTypeError(
            f'the body is {media_type or "of no type"}',
            hint='Send JSON, with "Content-Type: application/json"',
        )
    try:
        # Neither NaN nor Infinity is JSON, and half a character is no text.
        value = json.loads(
            data, parse_constant=_refuse_constant, parse_float=_number
        )
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:
        raise exceptions.RequestError(
            ['the body is not JSON in UTF-8']
        ) from exc
    check(value, schema, 'body')
    return value


def _number(text: str) -> float | int:
    """Return a number; without a fraction an integer: 1.0 is 1 in JSON."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _read(texts: Sequence[str], schema: operation.Schema) -> Any:
    """Return the typed value of texts, or the texts if they have none."""
    kind = schema.get('type')
    if kind == 'array':
        return [_read([text], schema['items']) for text in texts]
    if len(texts) > 1:
        return list(texts)
    (text,) = texts
    if kind == 'integer' and _INTEGER.fullmatch(text):
        return int(text)
    if kind == 'boolean':
        return _FLAGS.get(text, text)
    return text
