"""``compute node import``: owners of nodes that are recorded elsewhere."""

from __future__ import annotations

import argparse
import collections
import csv
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api.resources.node_changes import MAX_IMPORTED
from ironic_ownership.cli import base, change, errors, input_file
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.texts import counted, is_uuid, phrase
from ironic_ownership.engine.changes import imports as import_nodes
from ironic_ownership.engine.gates import Result

_Row = Mapping[str, Any]


class ImportComputeNode(base.Lister):
    """Record the owners of nodes, from a file that another system wrote.

    For a deployment whose ownership is recorded elsewhere, before its
    services run. Only unowned nodes are imported: the owner on record is never
    replaced. An instance that a node has in Ironic is recorded with it. Next
    to a Nova cell use "nova adopt".
    """

    notes = """\
CSV has a line for each node: uuid and owner, after an optional header such as
uuid,owner. JSON is a list of {"uuid": ..., "owner": ...}, or an object with
owners by uuid. Every entry that cannot be used is named with its line.

A gate that refuses one node stops all of them, unless --skip-invalid is
given; the exit code is 3 in both cases. An import that was interrupted is
resumed by running it again: nodes that are imported are unchanged."""
    operation = 'compute_node:import'
    flags: ClassVar = {'--all': 'show unchanged nodes as well'}
    options: ClassVar = {
        'nodes': None,
        'skip_invalid': {
            'default': False,
            'help': 'import the other nodes if some cannot be imported or are '
            'named wrongly',
        },
    }
    examples = (
        'compute node import owners.csv --dry-run',
        'compute node import owners.csv --new-services --yes',
        'compute node import - --skip-invalid --yes < owners.json',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'file', metavar='FILE', help='file to read; - is standard input'
        )

    def words(self, cell: Any) -> Any:
        return change.one_each(super().words(cell))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        entries = self._entries(parsed_args)
        if not (parsed_args.yes and parsed_args.skip_invalid):
            rows = list(self._send(parsed_args, entries, dry_run=True))
            planned = [r for r in rows if r['state'] == Result.PLANNED]
            refused = [r for r in rows if r['state'] == Result.REFUSED]
            stopped = bool(refused) and not parsed_args.skip_invalid
            if parsed_args.dry_run or stopped or not planned:
                if stopped and not parsed_args.dry_run:
                    others = '. --skip-invalid imports the others'
                    self.say(
                        f'{len(refused)} of {len(rows)} nodes refused by a '
                        'gate: nothing was imported'
                        f'{others if len(refused) < len(rows) else ""}'
                    )
                return self._shown(parsed_args, rows)
            services = {row['service'] for row in planned}
            change.confirm(
                parsed_args,
                f'Import {counted(len(planned), "node")} of '
                f'{counted(len(services), "service")}',
            )
        what = f'import {counted(len(entries), "node")}'
        change.announce(self.api.request_id, what)
        done: list[_Row] = []
        try:
            done.extend(self._send(parsed_args, entries, dry_run=False))
        except exceptions.OwnershipError as exc:
            self.say(
                f'stopped after {len(done)} of {len(entries)} nodes: run the '
                'command again to import the rest'
            )
            if exc.code != 'gates_failed':
                raise
            # A gate failed after the proposal.
            done.extend(exc.details['nodes'])
        return self._shown(parsed_args, done)

    def _entries(self, parsed_args: argparse.Namespace) -> dict[str, str]:
        owners, faults = read_owners(parsed_args.file)
        self.say_faults(
            faults,
            'of the entries cannot be used, see above; nothing was imported',
            skips=parsed_args.skip_invalid,
        )
        if not owners:
            name = input_file.label(parsed_args.file)
            raise errors.UsageError(f'{name} names no node')
        return owners

    def _send(
        self,
        parsed_args: argparse.Namespace,
        entries: Mapping[str, str],
        *,
        dry_run: bool,
    ) -> Iterator[_Row]:
        pairs = iter(entries.items())
        done = 0
        while some := list(itertools.islice(pairs, MAX_IMPORTED)):
            body = {
                **self.body(parsed_args),
                'nodes': [{'uuid': u, 'service': host} for u, host in some],
                'dry_run': dry_run,
            }
            answer = self.api.call(self.operation, body=body)
            yield from answer['nodes']
            done += len(some)
            if len(entries) > MAX_IMPORTED:
                what = 'evaluated' if dry_run else 'done'
                self.say(f'{done} of {len(entries)} nodes {what}')

    def _shown(
        self, parsed_args: argparse.Namespace, rows: Sequence[_Row]
    ) -> base.Table:
        counts = collections.Counter(row['state'] for row in rows)
        if counts[Result.REFUSED]:
            self.exit_code = errors.ExitCode.REFUSED
        self.say(
            ', '.join(
                f'{counts[s]} {s}' for s in import_nodes.RESULTS if counts[s]
            )
        )
        return self.rows(
            self.described.columns,
            [
                row
                for row in rows
                if parsed_args.all or row['state'] != Result.UNCHANGED
            ],
        )


_OWNER = ('owner', 'service', 'host')
"""Names of the column of the owner."""

_NAME = re.compile(r'[^/\s]{1,255}')

Pair = tuple[str, str, str]
"""Place, uuid and owner."""


def read_owners(path: str) -> tuple[dict[str, str], Sequence[str]]:
    """Read a file.

    JSON is a list of objects with ``uuid`` and ``owner``, or one object with
    owners by uuid. All else is CSV: a line for each node with uuid and owner,
    separated by a comma, after an optional header that names the columns;
    lines that begin with ``#`` are comments.

    :param path: of the file; ``-`` is standard input.
    :returns: owners by the uuid of the node in lower case, in the order of
        the file; and one sentence for each entry that cannot be used.
    :raises UsageError: if it cannot be read.
    """
    text, name = input_file.text_of(path), input_file.label(path)
    pairs = (
        _of_json(text, name)
        if text.lstrip().startswith(('[', '{'))
        else _of_csv(text, name)
    )
    owners: dict[str, str] = {}
    places: dict[str, str] = {}
    faults = []
    for place, node, service in pairs:
        uuid, owner = node.strip().lower(), service.strip()
        fault = _fault(uuid, owner, places)
        if fault:
            faults.append(f'{name}: {place}: {fault}')
        else:
            owners[uuid], places[uuid] = owner, place
    return owners, faults


def _fault(uuid: str, owner: str, places: dict[str, str]) -> str | None:
    if not is_uuid(uuid):
        return f'{uuid[:80]!r} is not a uuid'
    if uuid in places:
        return f'{uuid} is a duplicate of {places[uuid]}'
    if not owner:
        return f'{uuid} has no owner'
    if not (_NAME.fullmatch(owner) and owner.isprintable()):
        return f'{owner[:80]!r} cannot be the name of a service'
    return None


def _of_csv(text: str, path: str) -> Iterator[Pair]:
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    uuid_at, owner_at, is_first = 0, 1, True
    try:
        for row in reader:
            if not any(row) or row[0].lstrip().startswith('#'):
                continue
            names = [cell.strip().lower() for cell in row]
            is_header, is_first = is_first and 'uuid' in names, False
            if is_header:
                uuid_at, owner_at = _columns(names, path)
                continue
            uuid, owner = (
                row[at] if at < len(row) else '' for at in (uuid_at, owner_at)
            )
            yield f'line {reader.line_num}', uuid, owner
    except csv.Error as exc:
        raise errors.UsageError(
            f'{path}: line {reader.line_num}: {exc}'
        ) from exc


def _columns(names: Sequence[str], path: str) -> tuple[int, int]:
    owners = [names.index(name) for name in _OWNER if name in names]
    if not owners:
        raise errors.UsageError(
            f'{path}: the header has no column of the owner',
            hint=f'Name it {phrase(_OWNER, "or")}',
        )
    return names.index('uuid'), owners[0]


def _of_json(text: str, path: str) -> Iterator[Pair]:
    try:
        data = json.loads(text, object_pairs_hook=_Object)
    except (ValueError, RecursionError) as exc:
        raise errors.UsageError(f'{path} is not JSON: {exc}') from exc
    if isinstance(data, _Object):
        for number, (uuid, owner) in enumerate(data, start=1):
            yield f'entry {number}', uuid, _word(owner)
        return
    for number, one in enumerate(data, start=1):
        values = dict(one) if isinstance(one, _Object) else {}
        owner = next((values[n] for n in _OWNER if values.get(n)), '')
        yield f'entry {number}', _word(values.get('uuid')), _word(owner)


class _Object(list[tuple[str, Any]]):
    """A JSON object with all its pairs: one of equal names is not lost."""


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ''
