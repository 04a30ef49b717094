"""Validation of requests by the schemas of the OpenAPI document.

All faults are reported together, each with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema
import werkzeug.datastructures

from ironic_ownership.api import operation
from ironic_ownership.api.errors import InvalidRequestError
from ironic_ownership.web import errors

_INTEGER = re.compile('-?[0-9]{1,18}')
_FLAGS = {'true': True, 'false': False}
_LONGEST = 80


def _pattern(
    validator: Any, pattern: str, value: Any, schema: operation.Schema
) -> Iterator[jsonschema.ValidationError]:
    # Each pattern is of the whole text. The "$" of JSON Schema is its end,
    # that of Python also matches before a last line feed.
    if isinstance(value, str) and not re.fullmatch(pattern, value):
        yield jsonschema.ValidationError(f'{value!r} does not match {pattern}')


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {'pattern': _pattern}
)


def query(
    sent: werkzeug.datastructures.MultiDict[str, str],
    known: Sequence[operation.Parameter],
) -> dict[str, Any]:
    """Return the values of a query by the names of its parameters.

    :raises InvalidRequestError: listing everything that is wrong.
    """
    parameters = {parameter.name: parameter for parameter in known}
    faults = [
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
            faults += _faults(value, schema, name)
            values[name] = value
    _refuse(faults)
    return values


def path(
    sent: Mapping[str, str], known: Sequence[operation.Parameter]
) -> dict[str, str]:
    """Return the values of a path by the names of its parameters.

    :raises InvalidRequestError: listing everything that is wrong.
    """
    faults: list[str] = []
    for parameter in known:
        faults += _faults(sent[parameter.name], parameter.schema, 'path')
    _refuse(faults)
    return dict(sent)


def body(data: bytes, media_type: str, schema: operation.Schema) -> Any:
    """Return a body that was sent as JSON.

    :raises UnsupportedMediaTypeError: if its type is another one. Pages in
        a browser cannot send JSON to us without a check of their origin.
    :raises InvalidRequestError: listing everything that is wrong.
    """
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
        raise InvalidRequestError(['the body is not JSON in UTF-8']) from exc
    _refuse(_faults(value, schema, 'body'))
    return value


def _number(text: str) -> float | int:
    """Return a number; without a fraction an integer: 1.0 is 1 in JSON."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise InvalidRequestError(
            list(dict.fromkeys(faults)),
            hint='GET /openapi.json describes requests',
        )


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


def _faults(value: Any, schema: operation.Schema, where: str) -> list[str]:
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
