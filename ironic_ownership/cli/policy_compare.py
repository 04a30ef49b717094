"""``policy compare``: the owners under one list of policies and another."""

from __future__ import annotations

import argparse

from ironic_ownership.api import policy_options
from ironic_ownership.cli import base, comparison
from ironic_ownership.contracts import refusals


class ComparePolicy(comparison.Comparison):
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
