"""``ring show``, and what if: ``ring preview`` and ``policy compare``.

A table shows flows, or nodes, and then the sums. JSON and YAML have all of
it as one object.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api import policy_options, schemas
from ironic_ownership.api.resources.rings import FLOW, NODE
from ironic_ownership.cli import base, errors
from ironic_ownership.contracts import model, refusals
from ironic_ownership.contracts.texts import counted

_WHOLE = frozenset(('json', 'yaml'))
_NODES = (
    'show each node instead of the sums of each flow; in JSON and YAML, '
    'besides them'
)


class ShowRing(base.Lister):
    """Show the peer groups: services that share nodes, and their shares.

    From the records and the members only; works while Ironic is down.
    """

    notes = """\
Services with the same "ring" decide together. A ring with one peer and
without an assigner is a service that owns its nodes exclusively. "share" is
the part of the ring's nodes that the service owns by the records. "of_mean" is
its number of nodes, divided by the number that it should have: by the shares
that the assigner declares, such as weights, or else the mean of the ring. It
is empty if none can be expected. On a terminal it has a bar, in which a line
marks the mean; a full bar is twice the mean or more. Disabled and forced-down
services, and members whose settings cannot be read here, are in no ring."""
    examples = ('ring show', 'ring show --long -f json')
    operation, bar = 'ring:show', 'of_mean'
    long = 'also show policies, settings and the names of all peers'


class Comparison(base.Lister):
    """A command that shows which nodes would change owner."""

    keys = (
        *schemas.keys(FLOW)[:-1],
        f'share; with --nodes {", ".join(schemas.keys(NODE))}',
    )
    options: ClassVar = {'nodes': {'help': _NODES}}
    _outcome: dict[str, Any]

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        body = self.read(parsed_args)
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
            keys, cells = zip(*self._outcome.items(), strict=True)
            formatter.emit_one(keys, cells, stdout, parsed_args)
            return 0
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            stdout.write(f'{_summary(self._outcome)}\n')
        return code


class PreviewRing(Comparison):
    """Show which nodes would move if members left or joined.

    Nothing is changed. Records and instances count: a node with an instance
    always stays with its service.
    """

    notes = """\
A new member gets the settings of the ring in question; a list of peers that
is written in these settings is kept for --without, and names the new member
for --with. A service that is known and not alive comes back with its own
settings, unless --like says otherwise."""
    examples = (
        'ring preview --without host3',
        'ring preview --with host4 --like host1 --nodes',
        'ring preview --without host1 --with host4 -f json',
    )
    operation = 'ring:preview'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        _check_usage(parsed_args)
        return super().take_action(parsed_args)


def _check_usage(parsed_args: argparse.Namespace) -> None:
    given = vars(parsed_args)
    gone = set(map(model.canonical_host, given['without'] or ()))
    new = set(map(model.canonical_host, given['with'] or ()))
    if not gone and not new:
        raise errors.UsageError(
            'nothing to preview', hint='Name services: --without or --with'
        )
    if parsed_args.like is not None and not new:
        raise errors.UsageError('--like is about --with, which is missing')
    for host in sorted(gone & new):
        raise errors.UsageError(f'{host} cannot both leave and join')
    if '' in new:
        raise errors.UsageError('a service has a name')


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


class ComparePolicy(Comparison):
    """Show which nodes two lists of policies would assign differently.

    Nothing is changed. All live members would run list A, or list B. Only
    the policies are compared, not records and instances: "instances" is the
    number of nodes that you would have to move.
    """

    notes = """\
A and B are lists of policies as in [ownership] policies, such as
"conductor_group,peer_list". An option that is not given is as each member
advertises it now, or else has its default. An option is for all members, or
with HOST: before it for one. If two policies have an option of the
same name, put POLICY. before it."""
    examples = (
        'policy compare all peer_list',
        'policy compare all shard_key --option h1:shard_key=rack1 --nodes',
        'policy compare peer_list all,peer_list --option peer_list=h1,h2',
    )

    operation = 'policy:compare'
    options: ClassVar = {
        **Comparison.options,
        **dict.fromkeys(('a', 'b')),
        'options': {
            'flag': '--option',
            'type': _option,
            'action': 'append',
            'nargs': None,
            'metavar': '[HOST:][POLICY.]NAME=VALUE',
            'help': 'an option of these policies, for all members or for one; '
            'may be repeated, and one for a host takes precedence',
        },
    }

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for name in ('a', 'b'):
            parser.add_argument(
                name,
                metavar=name.upper(),
                type=_policies,
                help='a list of policies, separated by commas',
            )


def _summary(shown: Mapping[str, Any]) -> str:
    """Return the sums in a few lines."""
    nodes, moves = shown['nodes'], shown['moves']
    share = moves / nodes if nodes else 0.0
    first = f'{moves} of {nodes} nodes would move ({share:.1%}), '
    lines = [f'{first}{shown["instances"]} of them with an instance']
    if shown['stranded']:
        its, it = (
            ('its', 'it') if shown['stranded'] == 1 else ('their', 'them')
        )
        lines.append(
            f'{counted(shown["stranded"], "node")} with an instance would be '
            f'stranded: {its} owner would be gone, and only an operator could '
            f'move {it}'
        )
    if shown['unserved']:
        lines.append(
            f'{counted(shown["unserved"], "node")} without an instance would '
            'stay with an owner that would be gone'
        )
    return '\n'.join(lines)
