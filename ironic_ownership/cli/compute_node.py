"""``compute node list`` and ``compute node show``."""

from __future__ import annotations

import argparse
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from ironic_ownership.api.resources import compute_node_records, compute_nodes
from ironic_ownership.cli import base, errors
from ironic_ownership.engine.queries import node_status
from ironic_ownership.observe import columns

_STATES = 'states:\n' + '\n'.join(
    f'  {state:<14}  {state.help}'
    for state in (*node_status.State, *node_status.Availability)
)
_RECORDED = """\
With --recorded the list comes from the records, within seconds for any number
of nodes, and says when the owners last read Ironic. Nodes without a record
are missing, and the state is what the record tells."""
_ORDER = """\
A table of what Ironic says now is in the order of the names, everything else
in the order of the uuids. -f csv, -f json and -f value write each page when it
is read. If an error comes after that, standard error says that the list is
incomplete, the exit code is not 0, and JSON is not closed."""
_SCOPE = """\
Without a shard key in the configuration every node that Ironic shows to the
configured credential is listed, in any conductor group. With one, only
nodes of a shard are ever listed: the configured one, or that of --shard.
Records of the shard whose node is not in the list are looked up one by one,
and shown as Ironic describes them now, so that an orphan is really gone."""


class ListComputeNode(base.Lister):
    """List compute nodes with the owner of each, and the reason."""

    notes = f'{_STATES}\n\n{_SCOPE}\n\n{_RECORDED}\n\n{_ORDER}'
    examples = (
        'compute node list --state unowned orphan contested',
        'compute node list --state out-of-service -c uuid -c service',
        'compute node list --service rack1 --long',
        'compute node list --recorded --service rack1 -f csv',
        'compute node list --shard rack1 -f json -c uuid -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--service',
            metavar='HOST',
            help='only nodes that this service owns, by the host name in '
            '"service list"; case does not count',
        )
        parser.add_argument(
            '--shard',
            type=_shard,
            metavar='SHARD',
            help='only nodes of this shard, exactly as in Ironic',
        )
        parser.add_argument(
            '--conductor-group',
            metavar='GROUP',
            help='only nodes of this conductor group; case does not count, '
            'and "" is the default group',
        )
        parser.add_argument(
            '--state',
            nargs='+',
            action='extend',
            choices=[*node_status.State, *node_status.Availability],
            metavar='STATE',
            help='only nodes in one of these states: '
            f'{", ".join(sorted(node_status.State))}, '
            f'{", ".join(node_status.Availability)}; may be repeated',
        )
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show driver, provision state, maintenance, the owner '
            'as decided now, the service that the policies want, contending '
            'services, and whether the owner is alive',
        )
        parser.add_argument(
            '--recorded',
            action='store_true',
            help='list what is on record, without asking Ironic',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        query = {
            'service': parsed_args.service,
            'shard': parsed_args.shard,
            'conductor_group': parsed_args.conductor_group,
        }
        if parsed_args.recorded:
            return self._recorded(parsed_args, query)
        found: Iterable[Mapping[str, Any]] = self.listed(
            'compute_node:list',
            'compute_nodes',
            {**query, 'state': parsed_args.state},
        )
        if parsed_args.formatter == 'table':
            found = sorted(found, key=_name_and_uuid)
        long = parsed_args.long
        return _rows(
            compute_nodes.LONG if long else compute_nodes.SHORT, found
        )

    def _recorded(
        self, parsed_args: argparse.Namespace, query: Mapping[str, str | None]
    ) -> base.Table:
        for name in ('state', 'long'):
            if getattr(parsed_args, name):
                raise errors.UsageError(
                    f'--{name} needs what Ironic says now',
                    hint=f'Leave out --{name} or --recorded',
                )
        return _rows(
            compute_node_records.COLUMNS,
            self.listed(
                'compute_node_record:list', 'compute_node_records', query
            ),
        )


def _rows(
    shown: Iterable[columns.Column[Any]], found: Iterable[Mapping[str, Any]]
) -> base.Table:
    """Return columns, and rows that are made when they are read."""
    keys = columns.keys(shown)
    return keys, map(operator.itemgetter(*keys), found)


def _name_and_uuid(item: Mapping[str, Any]) -> tuple[str, str]:
    return item['name'] or '', item['uuid']


def add_node(parser: argparse.ArgumentParser) -> None:
    """Add the node that a command is about."""
    parser.add_argument(
        'node',
        metavar='UUID|NAME',
        help='uuid or name of the node, or uuid of the instance on it',
    )


class ShowComputeNode(base.ShowOne):
    """Show one compute node: its record, Ironic's node, the decision.

    The node is found in any shard and conductor group.
    """

    notes = _STATES
    examples = (
        'compute node show 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node show rack1-node7 -f json',
        'compute node show rack1-node7 -f value -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_node(parser)
        parser.add_argument(
            '--events',
            type=_count,
            default=5,
            metavar='N',
            help='how many of its last events to show, newest first '
            '(default: 5)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.api.call(
            'compute_node:show',
            path={'node': parsed_args.node},
            query={'events': parsed_args.events},
        )
        return self.cells(compute_nodes.DETAILS, body, 'events')


def _shard(text: str) -> str:
    if not text:
        # Ironic would take no shard at all for "any".
        raise argparse.ArgumentTypeError('a shard has a name')
    return text


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 10000:
        raise argparse.ArgumentTypeError(f'{text} is not in 0 to 10000')
    return number
