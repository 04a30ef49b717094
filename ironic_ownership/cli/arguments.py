"""Arguments of the command line, from the parameters of operations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from ironic_ownership.api.operation import LIMIT, Operation, Parameter, Schema

_APART = ('marker', 'dry_run')
"""Parameters that the commands have in another way, if at all."""


def add(
    parser: argparse.ArgumentParser,
    one: Operation,
    options: Mapping[str, Mapping[str, Any]],
    limit: int,
) -> None:
    """Add the parameters of an operation.

    :param options: of argparse, by parameter, where the schema does not tell.
    :param limit: the default of --limit; there is none with 0.
    """
    for given in one.parameters:
        metavar = given.metavar or given.name.upper()
        parser.add_argument(given.name, metavar=metavar, help=_help(given))
    for given in one.query:
        if given.name in _APART or (given is LIMIT and not limit):
            continue
        found = _options(given)
        if given is LIMIT:
            text = f'the maximum number of {one.noun}s (default: {limit})'
            found.update(metavar='N', default=limit, help=text)
        found.update(options.get(given.name, {}))
        parser.add_argument(f'--{given.name.replace("_", "-")}', **found)


def _help(given: Parameter) -> str:
    text = given.description
    return f'{text[0].lower()}{text[1:]}'.rstrip('.')


def _options(given: Parameter) -> dict[str, Any]:
    kind, found = given.schema['type'], {'help': _help(given)}
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
    least, most = schema['minimum'], schema['maximum']

    def read(text: str) -> int:
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f'{text} is not in {least} to {most}'
            )
        return int(text)

    # argparse names it where the text is no number.
    read.__name__ = 'int'
    return read
