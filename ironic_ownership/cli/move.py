"""``compute node move``, ``move list|show|resume``, ``service drain``."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api import schemas
from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.api.resources import move_answers
from ironic_ownership.cli import arguments, base, errors, input_file
from ironic_ownership.cli.move_command import OPTIONS, MoveCommand, Row
from ironic_ownership.contracts.moves import NodeState
from ironic_ownership.contracts.refusals import EmptySelectionError
from ironic_ownership.contracts.texts import canonical_uuid, is_uuid
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes.gates import MOVE

_GATES = f"""\
gates, all of them evaluated for every node:
{gates.table(MOVE, marked=True)}

Those with (*) can be overridden. A gate that cannot be evaluated fails."""

Entries = Mapping[str, str]
"""References to nodes, by their place: ``line 17``."""


Named = tuple[list[str], list[str]]
"""The nodes that entries refer to, as uuids in lower case, each once, in their
order; and one sentence for each entry that refers to no node."""


class MoveComputeNode(MoveCommand):
    """Move compute nodes, and the instances on them, to another service.

    Compute node and instance change their service in one transaction, in
    which the source loses its right to write. Nothing changes in Ironic or
    Placement. Nodes that the destination owns already stay unchanged. If a
    node is refused the exit code is 3, if one is named wrongly it is 2, and
    nothing is moved. With --skip-invalid the others are moved, and it is 3.
    """

    examples = (
        'compute node move rack1-node7 --to rack2 --dry-run',
        'compute node move --all --from rack1 --to rack2 --yes',
        'compute node move --shard rack2 --to rack2 --yes -f json',
        'compute node move --file uuids.txt --to rack2 --skip-invalid',
        'compute node move --all --from rack1 --to rack2 --trial 3 --yes',
    )

    operation, notes = 'move:create', _GATES
    options: ClassVar = {**OPTIONS, 'service': None, 'select': None}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add('nodes', metavar='UUID|NAME', nargs='*', help='nodes to move')
        add(
            *('--to', '--service'),
            dest='service',
            metavar='DEST',
            required=True,
            help='the service that gets the nodes (case-insensitive)',
        )
        add(
            '--all',
            action='store_true',
            help='move all nodes of the service that --from names',
        )
        add(
            '--from',
            dest='source',
            metavar='SOURCE',
            help='only nodes that this service owns; with --all, --shard or '
            '--conductor-group',
        )
        add(
            '--shard',
            type=arguments.shard,
            metavar='SHARD',
            help='move the nodes of this shard, exactly as in Ironic',
        )
        add(
            '--conductor-group',
            metavar='GROUP',
            help='move the nodes of this conductor group (case-insensitive); '
            '"" is the default group',
        )
        add(
            '--file',
            metavar='FILE',
            help='move the nodes of this file: one uuid a line, # begins a '
            'comment; - is standard input',
        )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        _check_usage(parsed_args)
        return {
            **super().body(parsed_args),
            'service': parsed_args.service.strip(),
            'select': self._selection(parsed_args),
        }

    def _selection(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        if parsed_args.file is not None or parsed_args.nodes:
            return {'uuids': self._named(parsed_args)}
        place = {
            'service': parsed_args.source and parsed_args.source.strip(),
            'shard': parsed_args.shard,
            'conductor_group': parsed_args.conductor_group,
        }
        return {key: v for key, v in place.items() if v is not None}

    def _named(self, parsed_args: argparse.Namespace) -> list[str]:
        """Return the uuids of the named nodes.

        :raises UsageError: if entries are wrong and are not to be skipped;
            each of them has been reported before.
        :raises EmptySelectionError: if there are none.
        """
        if parsed_args.file is not None:
            uuids, faults = of_file(self.api, parsed_args.file)
        else:
            uuids, faults = of_words(self.api, parsed_args.nodes)
        self.say_faults(
            faults,
            'of the nodes cannot be used, see above; nothing was moved',
            skips=parsed_args.skip_invalid,
        )
        if not uuids:
            raise EmptySelectionError
        return uuids


def _check_usage(parsed_args: argparse.Namespace) -> None:
    places = (parsed_args.shard, parsed_args.conductor_group)
    placed = any(place is not None for place in places)
    ways = [
        name
        for name, is_given in (
            ('UUID|NAME', bool(parsed_args.nodes)),
            ('--file', parsed_args.file is not None),
            ('--all, --shard or --conductor-group', parsed_args.all or placed),
        )
        if is_given
    ]
    if len(ways) != 1:
        given = f'{" and ".join(ways)} together' if ways else 'no nodes'
        raise errors.UsageError(
            f'{given}: select nodes in exactly one way',
            hint='Name nodes, or give --file, or --all with --from, or '
            '--shard and --conductor-group',
        )
    if parsed_args.all and parsed_args.source is None:
        raise errors.UsageError(
            '--all needs --from', hint='Add --from SERVICE'
        )
    if parsed_args.source is not None and not (parsed_args.all or placed):
        raise errors.UsageError(
            '--from needs --all, --shard or --conductor-group'
        )
    if parsed_args.source == '':
        raise errors.UsageError('the name of a service cannot be empty')


class ListMove(base.Lister):
    """List the moves of operators, newest first."""

    examples = ('move list --unfinished', 'move list -f json')
    nothing = 'No moves'
    operation, limit = 'move:list', 100


class ShowMove(base.ShowOne):
    """Show one move: caller, time, reason, and nodes by state."""

    examples = ('move show req-... --nodes -f json',)
    watches = True
    operation = 'move:show'
    options: ClassVar = {
        'nodes': {'help': 'also show the result of each node'}
    }

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        more = ('nodes',) if parsed_args.nodes else ()
        return self.cells(
            self.described.columns, self.read(parsed_args), *more
        )


class ResumeMove(MoveCommand):
    """Finish a move that was interrupted, with every gate evaluated again.

    Nodes that have their result already are not touched. A node that a gate
    refuses now stops the others, unless --skip-invalid gives it up; the exit
    code is 3 in both cases. Gates that were overridden stay so, and
    --override adds others.
    """

    examples = (
        'move resume req-... --yes',
        'move resume req-... --override destination_alive --reason CHG-42',
    )

    operation = 'move:resume'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        keys, rows = super().take_action(parsed_args)
        rows = list(rows)
        if not rows:
            self.say(f'{parsed_args.request_id}: nothing remains to be moved')
            keys = schemas.keys(move_answers.NODE)
        return keys, rows


class DrainService(MoveCommand):
    """Empty a service: move each of its nodes to a service that admits it.

    Only live and enabled services take nodes; of several that admit a node,
    the one with the fewest nodes takes it, and a free node of a hash ring
    goes where the ring puts it. The service itself has to be stopped, as for
    any move. If a node cannot be moved the exit code is 3, and nothing is
    moved unless --skip-invalid is given. Each service that takes nodes gets a
    move of its own, with its own request id. With --trial, each of them gets
    N nodes first, and no other node moves before all of these are verified.
    """

    operation = 'service:drain'
    examples = (
        'service drain rack1a --dry-run',
        'service drain rack1a --yes',
        'service drain rack1a --trial 2 --yes',
    )

    def question(self, planned: Sequence[Row]) -> str:
        numbers = collections.Counter(row['destination'] for row in planned)
        destinations = ', '.join(f'{n} to {to}' for to, n in numbers.items())
        return f'Move from {planned[0]["source"]}: {destinations}'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        keys, rows = super().take_action(parsed_args)
        rows = list(rows)
        states = {row[list(keys).index('state')] for row in rows}
        if self.exit_code == errors.ExitCode.DONE and not (
            parsed_args.dry_run or NodeState.MOVED in states
        ):
            self.say(f'service {parsed_args.host}: nothing to move')
        return keys, rows


def of_words(api: OperationClient, words: Sequence[str]) -> Named:
    """Resolve arguments: uuids, on record or not, and names."""
    entries = {
        f'argument {n}': canonical_uuid(word) or word
        for n, word in enumerate(words, start=1)
    }
    names = (text for text in entries.values() if not is_uuid(text))
    return _named(entries, arguments.resolved(api, names))


def of_file(api: OperationClient, path: str) -> Named:
    """Resolve the uuids in a file; each needs a compute node on record.

    :param path: of the file; ``-`` is standard input.
    :raises UsageError: if it cannot be read.
    """
    entries = read_file(path)
    resolved = arguments.resolved(api, filter(is_uuid, entries.values()))
    for text in entries.values():
        fault = {'uuid': None, 'fault': f'{text[:80]!r} is not a uuid'}
        resolved.setdefault(text, fault)
    uuids, faults = _named(entries, resolved)
    return uuids, [f'{input_file.label(path)}: {fault}' for fault in faults]


def read_file(path: str) -> Entries:
    """Read a file with one uuid a line; ``#`` begins a comment.

    :raises UsageError: if it cannot be read.
    """
    text = input_file.text_of(
        path, f'--file {path}', hint='It has to hold one uuid a line'
    )
    lines = (
        (number, line.partition('#')[0].strip())
        for number, line in enumerate(text.splitlines(), start=1)
    )
    return {f'line {n}': line for n, line in lines if line}


def _named(
    entries: Entries, resolved: Mapping[str, Mapping[str, Any]]
) -> Named:
    """Take each node once; a reference that is not resolved is a uuid."""
    first: dict[str, str] = {}
    faults = []
    for place, text in entries.items():
        found = resolved.get(text, {'uuid': text.lower()})
        uuid = found['uuid']
        if uuid is None:
            faults.append(f'{place}: {found["fault"]}')
        elif uuid in first:
            faults.append(f'{place}: {text} is a duplicate of {first[uuid]}')
        else:
            first[uuid] = place
    return list(first), faults
