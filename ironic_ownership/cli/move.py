"""``compute node move`` and ``move list|show|resume``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.cli import (
    base,
    confirmation,
    errors,
    node_arguments,
    operation_command,
)
from ironic_ownership.contracts import model
from ironic_ownership.engine import request_id
from ironic_ownership.engine.ports import Ports
from ironic_ownership.observe import columns
from ironic_ownership.observe import move as move_columns

if TYPE_CHECKING:
    from ironic_ownership.engine.moves import selection

_GATES = """\
gates, every one of them judged for every node:
  record_exists             the node has a compute node on record
  source_stopped            its owner is forced down, or disabled and dead
  not_same_service          its owner is not the destination
  destination_exists        the destination is a registered service
  destination_alive         the destination is a member (*)
  destination_enabled       it is neither disabled nor forced down (*)
  destination_admits        its policies admit the node (*)
  node_exists               Ironic has the node (*)
  at_most_one_instance      the records have at most one instance on it
  instance_agrees           it is the one that Ironic names (*)
  no_operation_in_progress  no conductor works on the node (*)

Those with (*) can be overridden. A gate that cannot be judged has failed."""


class MoveComputeNode(operation_command.Moving):
    """Move compute nodes, and the instances on them, to another service.

    Compute node and instance change their service in one transaction, in
    which the source loses its right to write. Nothing changes in Ironic or
    Placement. Nodes that the destination owns already stay unchanged.
    """

    notes = _GATES
    examples = (
        'compute node move rack1-node7 --service rack2 --dry-run',
        'compute node move --all --from rack1 --service rack2 --yes',
        'compute node move --shard rack2 --service rack2 --yes -f json',
        'compute node move --file uuids.txt --service rack2 --skip-invalid',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        from ironic_ownership.engine.moves import gates

        parser = super().get_parser(prog_name)
        add = parser.add_argument
        add('nodes', metavar='UUID|NAME', nargs='*', help='nodes to move')
        add(
            '--service',
            metavar='DEST',
            required=True,
            help='the service that gets the nodes; case does not count',
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
            metavar='SHARD',
            help='move the nodes of this shard, exactly as in Ironic',
        )
        add(
            '--conductor-group',
            metavar='GROUP',
            help='move the nodes of this conductor group; case does not '
            'count, and "" is the default group',
        )
        add(
            '--file',
            metavar='FILE',
            help='move the nodes of this file: one uuid a line, # begins a '
            'comment; - is standard input',
        )
        add(
            '--override',
            action='append',
            default=[],
            choices=[gate.value for gate in gates.OVERRIDABLE],
            metavar='GATE',
            help='move although this gate fails; needs --reason, may be '
            'repeated',
        )
        add('--reason', metavar='TEXT', help='why; stored with the move')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Move the nodes that the options name."""
        from ironic_ownership.engine.moves import executor, gates
        from ironic_ownership.engine.moves.plan import Order

        asked = parsed_args
        _check_usage(asked)
        self.check_terminal(asked)
        order = Order(
            request_id.new_id(),
            model.canonical_host(asked.service),
            confirmation.actor(),
            asked.reason,
            frozenset(map(gates.Gate, asked.override)),
        )
        ports = self.ports_of(order.request_id)
        mover = executor.Mover(ports, self.wiring.ready_moves())
        plan = mover.plan(order, self._selection(asked, ports))
        return self.execute(
            asked, mover, ports, plan, lambda: mover.store(plan)
        )

    def _selection(
        self, asked: argparse.Namespace, ports: Ports
    ) -> selection.Selection:
        from ironic_ownership.engine.moves import selection

        if asked.file is not None or asked.nodes:
            return selection.Selection(
                self._named(asked, ports), sharded=self.sharded
            )
        source = None
        if asked.source is not None:
            source = model.canonical_host(asked.source)
            hosts = [service.host for service in ports.records.services()]
            if source not in hosts:
                raise errors.unknown('service', asked.source, hosts)
        return selection.Selection(
            source=source,
            scope=selection.place(
                asked.shard, asked.conductor_group, self.wiring.scope
            ),
            sharded=self.sharded,
        )

    def _named(self, asked: argparse.Namespace, ports: Ports) -> Sequence[str]:
        """Return the uuids of the nodes that are named.

        :raises UsageError: if entries are wrong and are not to be skipped;
            each has been reported then.
        """
        if asked.file is not None:
            named = node_arguments.resolve(
                node_arguments.read_file(asked.file), None
            )
            named = _without_unknown(named, asked.file, ports)
        else:
            words = node_arguments.of_words(asked.nodes)
            named = node_arguments.resolve(words, _names(words, ports))
        for fault in named.faults:
            self.say(fault)
        if named.faults and not asked.skip_invalid:
            raise errors.UsageError(
                f'{len(named.faults)} nodes are named wrongly, each has a '
                'line above; nothing was moved',
                hint='Correct them, or add --skip-invalid',
            )
        return named.uuids


def _check_usage(asked: argparse.Namespace) -> None:
    places = (asked.shard, asked.conductor_group)
    placed = any(place is not None for place in places)
    ways = [
        name
        for name, given in (
            ('UUID|NAME', bool(asked.nodes)),
            ('--file', asked.file is not None),
            ('--all or a place', asked.all or placed),
        )
        if given
    ]
    if len(ways) != 1:
        said = f'{" and ".join(ways)} together' if ways else 'no nodes'
        raise errors.UsageError(
            f'{said}: it is not clear what to move',
            hint='Name nodes, or give --file, or --all with --from, or '
            '--shard and --conductor-group',
        )
    if asked.all and asked.source is None:
        raise errors.UsageError(
            '--all needs --from', hint='All nodes of which service?'
        )
    if asked.source is not None and not (asked.all or placed):
        raise errors.UsageError(
            '--from needs --all, --shard or --conductor-group'
        )
    if asked.shard == '':
        raise errors.UsageError('a shard has a name')
    if asked.override and not (asked.reason or '').strip():
        raise errors.UsageError('--override needs --reason')


def _names(
    words: Sequence[node_arguments.Entry], ports: Ports
) -> dict[str, list[str]]:
    """Return uuids by name; nothing is read if no word is a name."""
    names: dict[str, list[str]] = {}
    if any(not node_arguments.is_uuid(word.text) for word in words):
        for record in ports.records.compute_nodes():
            if record.name:
                names.setdefault(record.name, []).append(record.uuid)
    return names


def _without_unknown(
    named: node_arguments.Named, path: str, ports: Ports
) -> node_arguments.Named:
    """Take out what no compute node is on record for, as faults."""
    known = {r.uuid for r in ports.records.compute_nodes_by_uuid(named.uuids)}
    unknown = [
        f'{named.places[uuid]}: no compute node is on record for {uuid}'
        for uuid in named.uuids
        if uuid not in known
    ]
    faults = sorted([*named.faults, *unknown], key=_line_number)
    return node_arguments.Named(
        [uuid for uuid in named.uuids if uuid in known],
        [f'{path}: {fault}' for fault in faults],
    )


def _line_number(fault: str) -> int:
    return int(fault.partition(':')[0].split()[-1])


class ListMove(base.Lister):
    """List the moves that operators made, newest first."""

    examples = ('move list --unfinished', 'move list -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--unfinished',
            action='store_true',
            help='only those that run or have to be resumed',
        )
        parser.add_argument(
            '--limit',
            type=_count,
            default=100,
            metavar='N',
            help='how many at most (default: 100)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """List the moves."""
        found = self.wiring.ready_moves().moves(
            unfinished=parsed_args.unfinished, limit=parsed_args.limit
        )
        return self.table(move_columns.MOVE, found)


class ShowMove(base.ShowOne):
    """Show one move: who, when, why, and how many nodes in each state."""

    examples = ('move show req-... --nodes -f json',)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'request_id', metavar='ID', help='as "move list" shows it'
        )
        parser.add_argument(
            '--nodes',
            action='store_true',
            help='also show the result of each node',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Show the move."""
        from ironic_ownership.engine.moves import executor

        stored = self.wiring.ready_moves()
        move = executor.find(stored, parsed_args.request_id)
        keys = columns.keys(move_columns.MOVE)
        cells = columns.row(move_columns.MOVE, move)
        if not parsed_args.nodes:
            return keys, cells
        nodes = [
            move_columns.node_cell(node)
            for node in stored.nodes(move.request_id)
        ]
        return (*keys, 'nodes'), (*cells, nodes)


class ResumeMove(operation_command.Moving):
    """Finish a move that was interrupted, with every gate judged anew.

    Nodes that have their result already are not touched. One that a gate
    refuses now keeps the others, unless --skip-invalid gives it up.
    """

    examples = ('move resume req-... --yes',)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'request_id', metavar='ID', help='as "move list" shows it'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Finish the move."""
        from ironic_ownership.engine.moves import executor

        asked = parsed_args
        self.check_terminal(asked)
        stored = self.wiring.ready_moves()
        move = executor.find(stored, asked.request_id)
        ports = self.ports_of(asked.request_id)
        mover = executor.Mover(ports, stored)
        plan = mover.plan_rest(move, confirmation.actor(), self.sharded)
        if not plan.nodes:
            self.say(f'{asked.request_id}: nothing is left to do')
            return self.table(move_columns.NODE, [])
        if asked.skip_invalid and not asked.dry_run and plan.all_refused:
            mover.refuse(plan)
        return self.execute(
            asked, mover, ports, plan, lambda: mover.refuse(plan)
        )


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 10000:
        raise argparse.ArgumentTypeError(f'{text} is not in 1 to 10000')
    return number
