"""Arguments of commands, made of the parameters of their operations.

Those that name nodes are resolved to uuids before the operation is called.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership import program
from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Operation
from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.api.schemas import Parameter
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.texts import canonical_uuid, is_uuid

Options = Mapping[str, Mapping[str, Any] | None]
"""What argparse needs for a parameter beyond its schema, and the name of the
option as ``flag``; ``None`` if the command adds it, or does without it."""

_APART = ('marker', 'dry_run', 'uuids')
"""Parameters that the commands have in another way, if at all."""

_MAX_REASON = 255
NODE = 'compute node'
_CHUNK = 2_000
"""References in one request: they fit the default limit of HTTP bodies."""

positive = program.within(int, 1, 10**9)
"""The type of an argument: up to a billion, more than any request takes."""


def reason(text: str) -> str:
    """Return a reason on one line, as an argument of argparse."""
    words = ' '.join(text.split())
    if not 0 < len(words) <= _MAX_REASON:
        raise argparse.ArgumentTypeError(
            f'a reason has 1 to {_MAX_REASON} characters'
        )
    return words


def shard(text: str) -> str:
    """Return the name of a shard, as an argument of argparse."""
    if not text:
        # Ironic would take no shard at all for "any".
        raise argparse.ArgumentTypeError('the name of a shard cannot be empty')
    return text


def add(
    parser: argparse.ArgumentParser,
    one: Operation,
    options: Options,
    limit: int,
) -> None:
    """Add the parameters of an operation; and, if it has a dry run, ``--yes``.

    :param limit: default of ``--limit``, if the command has it.
    """
    for given in one.parameters:
        metavar = given.metavar or given.name.upper()
        parser.add_argument(given.name, metavar=metavar, help=given.help)
    if limit:
        text = f'the maximum number of {one.noun}s (default: {limit})'
        of_limit = {'metavar': 'N', 'default': limit, 'help': text}
        options = {'limit': of_limit, **options}
    for given in one.query:
        _add(parser, given, options)
    body = [*_of_body(one)]
    known = {given.name for given in (*one.query, *(p for p, _ in body))}
    if 'dry_run' in known:
        add_confirmation(parser)
    for given, required in body:
        # A flag that is not given is left out of the body.
        _add(parser, given, options, default=None, required=required)


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    """Add ``--dry-run`` and ``--yes``."""
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='show what would be done and whether it would be refused, and '
        'change nothing',
    )
    parser.add_argument(
        *('-y', '--yes'),
        action='store_true',
        help='do not ask; needed where there is no terminal',
    )


def _add(
    parser: argparse.ArgumentParser,
    given: Parameter,
    options: Options,
    **found: Any,
) -> None:
    apart = given is schemas.LIMIT or given.name in _APART
    more = options.get(given.name, None if apart else {})
    if more is None:
        return
    kind, found = given.schema['type'], {**found, 'help': given.help}
    if kind == 'boolean':
        found['action'] = 'store_true'
    else:
        found['metavar'] = given.metavar or given.name.upper()
    if kind == 'integer':
        least, most = given.schema['minimum'], given.schema.get('maximum')
        found['type'] = program.within(int, least, most or math.inf)
    if kind == 'array':
        choices = given.schema['items'].get('enum')
        found.update(nargs='+', action='extend', choices=choices)
    if given.name == 'reason':
        found |= {'metavar': 'TEXT', 'type': reason}
    found |= more
    flag = found.pop('flag', f'--{given.name.replace("_", "-")}')
    parser.add_argument(flag, dest=given.name, **found)


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
    known: dict[str, schemas.Schema] = {}
    for part in parts:
        known |= part.get('properties', {})
    for name, schema in known.items():
        required = all(name in part.get('required', ()) for part in parts)
        yield Parameter(name, schema.get('description', ' '), schema), required


def uuids_of(
    api: OperationClient, names: Sequence[str], thing: str = NODE
) -> Sequence[str]:
    """Return the uuids of things; the records are read for names only.

    :param names: uuids, and names of nodes.
    :param thing: of which the uuids are; others may be on record as well.
    :raises NotFoundError: listing all that are unknown.
    """
    words = [canonical_uuid(text) or text for text in names]
    if all(map(is_uuid, words)):
        return words
    found = resolved(
        api, (w for w in words if thing == NODE or not is_uuid(w))
    )
    faults = [node['fault'] for node in found.values() if node['fault']]
    if faults:
        raise exceptions.NotFoundError('; '.join(faults))
    return [found[word]['uuid'] if word in found else word for word in words]


def resolved(
    api: OperationClient, references: Iterable[str]
) -> dict[str, Any]:
    """Return the compute node on record, or the fault, of each reference."""
    found = {}
    distinct = list(dict.fromkeys(references))
    for start in range(0, len(distinct), _CHUNK):
        body = {'nodes': distinct[start : start + _CHUNK]}
        answer = api.call('compute_node:resolve', body=body)
        found.update({one['text']: one for one in answer['nodes']})
    return found
