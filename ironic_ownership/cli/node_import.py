"""``compute node import``: owners of nodes that are recorded elsewhere."""

from __future__ import annotations

import argparse
import collections
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.api.resources.node_imports import LARGEST, RESULTS
from ironic_ownership.cli import base, change, errors, owner_file
from ironic_ownership.contracts import exceptions
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
    examples = (
        'compute node import owners.csv --dry-run',
        'compute node import owners.csv --new-services --yes',
        'compute node import - --skip-invalid --yes < owners.json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        change.add_arguments(parser)
        parser.add_argument(
            'file', metavar='FILE', help='file to read; - is standard input'
        )
        parser.add_argument(
            '--new-services',
            action='store_true',
            help='create services that are not on record, for those that '
            'have not been started yet',
        )
        parser.add_argument(
            '--skip-invalid',
            action='store_true',
            help='import the other nodes if some cannot be imported or are '
            'named wrongly',
        )
        parser.add_argument(
            '--all', action='store_true', help='show unchanged nodes as well'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        entries = self._entries(parsed_args)
        if not (parsed_args.yes and parsed_args.skip_invalid):
            rows = list(self._send(parsed_args, entries, dry_run=True))
            planned = [r for r in rows if r['state'] == Result.PLANNED]
            refused = [r for r in rows if r['state'] == Result.REFUSED]
            stopped = bool(refused) and not parsed_args.skip_invalid
            if parsed_args.dry_run or stopped or not planned:
                if stopped and not parsed_args.dry_run:
                    self._say(
                        f'{len(refused)} of {len(rows)} nodes are refused by '
                        'a gate: nothing was imported. --skip-invalid '
                        'imports the others'
                    )
                return self._shown(parsed_args, rows)
            services = {row['service'] for row in planned}
            change.confirm(
                parsed_args,
                f'Import {len(planned)} nodes of {len(services)} services',
            )
        what = f'import {len(entries)} nodes'
        change.announce(self.api.request_id, what)
        done: list[_Row] = []
        try:
            done.extend(self._send(parsed_args, entries, dry_run=False))
        except exceptions.OwnershipError as exc:
            self._say(
                f'stopped after {len(done)} of {len(entries)} nodes: run the '
                'command again to import the rest'
            )
            if exc.code != 'gates_failed':
                raise
            # A gate failed after the proposal.
            done.extend(exc.details['nodes'])
        return self._shown(parsed_args, done)

    def _entries(self, parsed_args: argparse.Namespace) -> dict[str, str]:
        found = owner_file.read(parsed_args.file)
        for fault in found.faults:
            self._say(fault)
        if found.faults and not parsed_args.skip_invalid:
            raise errors.UsageError(
                f'{len(found.faults)} entries cannot be used, each named in '
                'a line above; nothing was imported',
                hint='Correct them, or add --skip-invalid',
            )
        if found.faults:
            self.exit_code = errors.ExitCode.REFUSED
        if not found.owners:
            raise errors.UsageError(f'{parsed_args.file} names no node')
        return found.owners

    def _send(
        self,
        parsed_args: argparse.Namespace,
        entries: Mapping[str, str],
        *,
        dry_run: bool,
    ) -> Iterator[_Row]:
        pairs = iter(entries.items())
        done = 0
        while some := list(itertools.islice(pairs, LARGEST)):
            body = {
                'nodes': [{'uuid': u, 'service': host} for u, host in some],
                'new_services': parsed_args.new_services,
                'skip_invalid': parsed_args.skip_invalid,
                'dry_run': dry_run,
            }
            answer = self.api.call('compute_node:import', body=body)
            yield from answer['nodes']
            done += len(some)
            if len(entries) > LARGEST:
                what = 'evaluated' if dry_run else 'done'
                self._say(f'{done} of {len(entries)} nodes {what}')

    def _shown(
        self, parsed_args: argparse.Namespace, rows: Sequence[_Row]
    ) -> base.Table:
        counts = collections.Counter(row['state'] for row in rows)
        if counts[Result.REFUSED]:
            self.exit_code = errors.ExitCode.REFUSED
        self._say(
            ', '.join(
                f'{counts[s]} {s}' for s in import_nodes.RESULTS if counts[s]
            )
        )
        return self.rows(
            RESULTS,
            [
                row
                for row in rows
                if parsed_args.all or row['state'] != Result.UNCHANGED
            ],
        )

    def _say(self, text: str) -> None:
        self.app.stderr.write(f'{errors.PROG}: {text}\n')
