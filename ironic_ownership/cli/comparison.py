"""``policy compare``, and the base of commands that compare owners.

A table shows flows, or nodes, and then the sums. JSON and YAML have all of
it as one object.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api import policy_options
from ironic_ownership.api.resources.comparison import FLOW, NODE
from ironic_ownership.cli import base
from ironic_ownership.contracts import refusals

_WHOLE = frozenset(('json', 'yaml'))


_NODES = (
    'show each node instead of the sums of each flow; in JSON and YAML, '
    'besides them'
)


class Comparison(base.Lister):
    """A command that shows which nodes would change owner."""

    options: ClassVar = {'nodes': {'help': _NODES}}
    _outcome: dict[str, Any]

    def compared(self, body: dict[str, Any]) -> base.Table:
        """Return the table of what would change."""
        self._outcome = {
            key: value
            for key, value in body.items()
            if key not in ('warnings', 'notes')
        }
        if 'changes' in body:
            return self.rows(NODE, body['changes'])
        return self.rows(FLOW, body['flows'])

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        stdout = self.app.stdout
        if parsed_args.formatter in _WHOLE and not parsed_args.columns:
            formatter: Any = self.formatter
            formatter.emit_one(
                list(self._outcome),
                list(self._outcome.values()),
                stdout,
                parsed_args,
            )
            return 0
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            stdout.write(f'{_summary(self._outcome)}\n')
        return code


class ComparePolicy(Comparison):
    """Show which nodes two lists of policies would assign differently.

    Nothing is changed. All live members would run list A, or list B. Only
    what the policies alone want is compared: records and instances do not
    count, "instances" tells how many nodes an operator would have to move.
    """

    notes = """\
A and B are lists of policies as in [ownership] policies, such as
"conductor_group,peer_list". An option that is not given is as each member
advertises it now, or else has its default. An option is for all members, or
with HOST: before it for one. "shard_key" of one policy and of another are
told apart by POLICY. before the name."""
    examples = (
        'policy compare all peer_list',
        'policy compare all shard_key --option h1:shard_key=rack1 --nodes',
        'policy compare peer_list all,peer_list --option peer_list=h1,h2',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for name in ('a', 'b'):
            parser.add_argument(
                name,
                metavar=name.upper(),
                type=_policies,
                help='a list of policies, separated by commas',
            )
        parser.add_argument(
            '--option',
            dest='options',
            type=_option,
            action='append',
            default=[],
            metavar='[HOST:][POLICY.]NAME=VALUE',
            help='an option of these policies, for all members or for one; '
            'may be repeated, and one for a host counts more',
        )
        parser.add_argument('--nodes', action='store_true', help=_NODES)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        body = self.api.call(
            'policy:compare',
            body={
                'a': parsed_args.a,
                'b': parsed_args.b,
                'options': parsed_args.options,
                'nodes': parsed_args.nodes,
            },
        )
        self.warn(body)
        return self.compared(body)


def _option(text: str) -> str:
    try:
        policy_options.option(text)
    except refusals.ScenarioError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
    return text


def _policies(text: str) -> str:
    if not text.strip(', '):
        raise argparse.ArgumentTypeError('an empty list of policies')
    return text


def _summary(shown: Mapping[str, Any]) -> str:
    """Return the sums in a few lines."""
    nodes, moves = shown['nodes'], shown['moves']
    share = moves / nodes if nodes else 0.0
    first = f'{moves} of {nodes} nodes would move ({share:.1%}), '
    lines = [f'{first}{shown["instances"]} of them with an instance']
    if shown['stranded']:
        lines.append(
            f'{shown["stranded"]} nodes with an instance would be stranded: '
            'their owner would be gone, and only an operator could move them'
        )
    if shown['unserved']:
        lines.append(
            f'{shown["unserved"]} nodes without an instance would stay with '
            'an owner that would be gone'
        )
    return '\n'.join(lines)
