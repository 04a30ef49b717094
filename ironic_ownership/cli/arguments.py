"""Arguments of a command: the parameters and the body of its operation."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Operation, Parameter, Schema

Options = Mapping[str, Mapping[str, Any] | None]
"""What argparse needs for a parameter beyond its schema, and the name of the
option as ``flag``; ``None`` if the command adds it, or does without it."""

_APART = ('marker', 'dry_run', 'uuids')
"""Parameters that the commands have in another way, if at all."""

_MAX_REASON = 255


def add(
    parser: argparse.ArgumentParser,
    one: Operation,
    options: Options,
    limit: int,
) -> None:
    """Add the parameters of an operation.

    :param limit: the default of --limit; there is none with 0.
    """
    for given in one.parameters:
        metavar = given.metavar or given.name.upper()
        parser.add_argument(given.name, metavar=metavar, help=given.help)
    for given in one.query:
        more = options.get(given.name) or {}
        if given is schemas.LIMIT:
            if not limit:
                continue
            text = f'the maximum number of {one.noun}s (default: {limit})'
            more = {'metavar': 'N', 'default': limit, 'help': text}
        _add_option(parser, given, more)


def add_body(
    parser: argparse.ArgumentParser, one: Operation, options: Options
) -> None:
    """Add the keys of the body of an operation."""
    for given, required in _of_body(one):
        # A flag that is not given is left out of the body.
        found: dict[str, Any] = {'default': None, 'required': required}
        if given.name == 'reason':
            found |= {'metavar': 'TEXT', 'type': reason_text}
        more = options.get(given.name, {})
        if more is not None:
            _add_option(parser, given, {**found, **more})


def query_of(one: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query of an operation, of the arguments that are given."""
    return {p.name: given[p.name] for p in one.query if p.name in given}


def body_of(one: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an operation, of the arguments that are given.

    Whether it is a dry run is left to the caller.
    """
    return {
        parameter.name: value
        for parameter, _ in _of_body(one)
        if parameter.name != 'dry_run'
        and (value := given.get(parameter.name)) is not None
    }


def _of_body(one: Operation) -> Iterator[tuple[Parameter, bool]]:
    """Yield the keys of a body, and whether each is always required."""
    body = one.body or {}
    parts = body.get('anyOf', [body])
    known: dict[str, Schema] = {}
    for part in parts:
        known |= part.get('properties', {})
    for name, schema in known.items():
        required = all(name in part.get('required', ()) for part in parts)
        yield Parameter(name, schema.get('description', ' '), schema), required


def _add_option(
    parser: argparse.ArgumentParser, given: Parameter, more: Mapping[str, Any]
) -> None:
    if given.name in _APART:
        return
    found = {**_options_of(given), **more}
    flag = found.pop('flag', f'--{given.name.replace("_", "-")}')
    parser.add_argument(flag, dest=given.name, **found)


def _options_of(given: Parameter) -> dict[str, Any]:
    kind, found = given.schema['type'], {'help': given.help}
    if kind == 'boolean':
        return {**found, 'action': 'store_true'}
    more: dict[str, Any] = {'metavar': given.metavar or given.name.upper()}
    if kind == 'integer':
        more['type'] = _number(given.schema)
    if kind == 'array':
        choices = given.schema['items'].get('enum')
        more.update(nargs='+', action='extend', choices=choices)
    return {**found, **more}


def _number(schema: Schema) -> Callable[[str], int]:
    least, most = schema['minimum'], schema.get('maximum', math.inf)

    def read(text: str) -> int:
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f'{text} is not in {least} to {most}'
            )
        return int(text)

    # argparse names it where the text is no number.
    read.__name__ = 'int'
    return read


def reason_text(text: str) -> str:
    """Return a reason on one line, as an argument of argparse."""
    words = ' '.join(text.split())
    if not 0 < len(words) <= _MAX_REASON:
        raise argparse.ArgumentTypeError(
            f'a reason has 1 to {_MAX_REASON} characters'
        )
    return words
