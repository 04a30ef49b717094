"""``service failover``: hand a service over to a process that stands by."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base
from ironic_ownership.cli.confirmation import Body, WritingCommand


class FailoverService(WritingCommand, base.ShowOne):
    """Make a standby the active process of its service.

    The active process loses its right to write immediately, and stands by
    from then on. No node changes owner. The command waits until the standby
    has taken over.
    """

    operation = 'service:failover'
    notes = """\
Refused, with exit code 3, if no process stands by, if several do and none is
named with --to, or if the service is forced down. If the standby does not
take over, because it dies at this very moment, the exit code is 4, and the
process that was active registers again by itself."""
    examples = (
        'service failover rack1 --dry-run',
        'service failover rack1 --to 4f6c --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--to',
            metavar='INCARNATION',
            help='the process that takes over, as in "member list", or how '
            'its incarnation begins; needed if several stand by',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        body = self.operate(parsed_args)
        return self.cells(
            self.described.columns, body, 'dry_run', 'request_id'
        )

    def body(self, parsed_args: argparse.Namespace) -> Body:
        return {'to': parsed_args.to} if parsed_args.to else {}

    def describe(self, proposal: Body) -> str:
        return (
            f'hand {proposal["host"]} over to incarnation '
            f'{proposal["to_incarnation"]}'
        )

    def refusals(self, proposal: Body) -> Sequence[str]:
        return [
            f'refused by {gate["gate"]}: {gate["detail"]}. {gate["hint"]}'
            for gate in proposal['gates']
            if not gate['passed']
        ]
