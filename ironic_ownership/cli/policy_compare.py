"""``policy compare``: who would own what under one list and another."""

from __future__ import annotations

import argparse

from ironic_ownership.cli import base, comparison, policy_options
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import scenario


class ComparePolicy(comparison.Comparison):
    """Show which nodes two lists of policies would give to others.

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
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        for name in ('a', 'b'):
            parser.add_argument(
                name,
                metavar=name.upper(),
                help='a list of policies, separated by commas',
            )
        parser.add_argument(
            '--option',
            dest='options',
            type=policy_options.option,
            action='append',
            default=[],
            metavar='[HOST:][POLICY.]NAME=VALUE',
            help='an option of these policies, for all members or for one; '
            'may be repeated, and one for a host counts more',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Compare two lists of policies."""
        given = parsed_args.options
        lists = [
            policy_options.policies(words)
            for words in (parsed_args.a, parsed_args.b)
        ]
        seen = self.read()
        now = scenario.Situation(
            seen.view or model.View(), seen.services or ()
        )
        policy_options.check_options(
            given, {**lists[0], **lists[1]}, now.view.hosts
        )
        before, after = (
            scenario.all_running(
                now,
                {
                    member.host: policy_options.settings(
                        member, classes, given
                    )
                    for member in now.view.members
                },
            )
            for classes in lists
        )
        return self.compared(seen, {}, before, after, nodes=parsed_args.nodes)
