"""``compute node move`` and ``move list|show|resume``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.cli import (
    command,
    failures,
    move_input,
    moving,
    writing,
)
from ironic_ownership.contracts import model
from ironic_ownership.engine import access, request
from ironic_ownership.observe import columns
from ironic_ownership.observe import move as move_columns

if TYPE_CHECKING:
    from ironic_ownership.engine.moving import move_selection

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


class MoveComputeNode(moving.Moving):
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
        from ironic_ownership.engine.moving import move_gates

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
            choices=[gate.value for gate in move_gates.OVERRIDABLE],
            metavar='GATE',
            help='move although this gate fails; needs --reason, may be '
            'repeated',
        )
        add('--reason', metavar='TEXT', help='why; stored with the move')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """Move the nodes that the options name."""
        from ironic_ownership.engine.moving import (
            move_gates,
            move_plan,
            moves,
        )

        asked = parsed_args
        _check_usage(asked)
        self.check_terminal(asked)
        order = move_plan.Order(
            request.new_id(),
            model.canonical_host(asked.service),
            writing.actor(),
            asked.reason,
            frozenset(map(move_gates.Gate, asked.override)),
        )
        ports = self.ports_of(order.request_id)
        mover = moves.Mover(ports, self.wiring.ready_moves())
        plan = mover.plan(order, self._selection(asked, ports))
        return self.execute(
            asked, mover, ports, plan, lambda: mover.store(plan)
        )

    def _selection(
        self, asked: argparse.Namespace, ports: access.Ports
    ) -> move_selection.Selection:
        from ironic_ownership.engine.moving import move_selection

        if asked.file is not None or asked.nodes:
            return move_selection.Selection(
                self._named(asked, ports), sharded=self.sharded
            )
        source = None
        if asked.source is not None:
            source = model.canonical_host(asked.source)
            hosts = [service.host for service in ports.records.services()]
            if source not in hosts:
                raise failures.unknown('service', asked.source, hosts)
        return move_selection.Selection(
            source=source,
            scope=move_selection.place(
                asked.shard, asked.conductor_group, self.wiring.scope
            ),
            sharded=self.sharded,
        )

    def _named(
        self, asked: argparse.Namespace, ports: access.Ports
    ) -> Sequence[str]:
        """Return the uuids of the nodes that are named.

        :raises UsageError: if entries are wrong and are not to be skipped;
            each has been reported then.
        """
        if asked.file is not None:
            named = move_input.resolve(move_input.read_file(asked.file), None)
            named = _without_unknown(named, asked.file, ports)
        else:
            words = move_input.of_words(asked.nodes)
            named = move_input.resolve(words, _names(words, ports))
        for fault in named.faults:
            self.say(fault)
        if named.faults and not asked.skip_invalid:
            raise failures.UsageError(
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
        raise failures.UsageError(
            f'{said}: it is not clear what to move',
            hint='Name nodes, or give --file, or --all with --from, or '
            '--shard and --conductor-group',
        )
    if asked.all and asked.source is None:
        raise failures.UsageError(
            '--all needs --from', hint='All nodes of which service?'
        )
    if asked.source is not None and not (asked.all or placed):
        raise failures.UsageError(
            '--from needs --all, --shard or --conductor-group'
        )
    if asked.shard == '':
        raise failures.UsageError('a shard has a name')
    if asked.override and not (asked.reason or '').strip():
        raise failures.UsageError('--override needs --reason')


def _names(
    words: Sequence[move_input.Entry], ports: access.Ports
) -> dict[str, list[str]]:
    """Return uuids by name; nothing is read if no word is a name."""
    names: dict[str, list[str]] = {}
    if any(not move_input.is_uuid(word.text) for word in words):
        for record in ports.records.compute_nodes():
            if record.name:
                names.setdefault(record.name, []).append(record.uuid)
    return names


def _without_unknown(
    named: move_input.Named, path: str, ports: access.Ports
) -> move_input.Named:
    """Take out what no compute node is on record for, as faults."""
    known = {r.uuid for r in ports.records.compute_nodes_by_uuid(named.uuids)}
    unknown = [
        f'{named.places[uuid]}: no compute node is on record for {uuid}'
        for uuid in named.uuids
        if uuid not in known
    ]
    faults = sorted([*named.faults, *unknown], key=_line_number)
    return move_input.Named(
        [uuid for uuid in named.uuids if uuid in known],
        [f'{path}: {fault}' for fault in faults],
    )


def _line_number(fault: str) -> int:
    return int(fault.partition(':')[0].split()[-1])


class ListMove(command.Lister):
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

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """List the moves."""
        found = self.wiring.ready_moves().moves(
            unfinished=parsed_args.unfinished, limit=parsed_args.limit
        )
        return self.table(move_columns.MOVE, found)


class ShowMove(command.ShowOne):
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
        from ironic_ownership.engine.moving import moves

        stored = self.wiring.ready_moves()
        move = moves.find(stored, parsed_args.request_id)
        keys = columns.keys(move_columns.MOVE)
        cells = columns.row(move_columns.MOVE, move)
        if not parsed_args.nodes:
            return keys, cells
        nodes = [
            move_columns.node_cell(node)
            for node in stored.nodes(move.request_id)
        ]
        return (*keys, 'nodes'), (*cells, nodes)


class ResumeMove(moving.Moving):
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

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """Finish the move."""
        from ironic_ownership.engine.moving import moves

        asked = parsed_args
        self.check_terminal(asked)
        stored = self.wiring.ready_moves()
        move = moves.find(stored, asked.request_id)
        ports = self.ports_of(asked.request_id)
        mover = moves.Mover(ports, stored)
        plan = mover.plan_rest(move, writing.actor(), self.sharded)
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
