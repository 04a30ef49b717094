"""``service set|delete|failover``; all work while Ironic is down."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, change, errors
from ironic_ownership.cli.change import Body


class SetService(change.ChangeOne):
    """Enable or disable a service, or force it down.

    A disabled service (cordon) gets no more nodes and keeps those that it
    has. A forced-down service is fenced immediately, even if its process
    still runs. After --up it registers again automatically.
    """

    operation = 'service:set'
    reason = 'why; stored in the event, see "event list"'
    notes = (
        '"changed" names the settings that have changed; a repeated command '
        'changes\nnothing.'
    )
    examples = (
        'service set rack1 --disable --disable-reason "new fans"',
        'service set rack1 --down --reason "host is on fire" --yes',
        'service set rack1 --up --enable',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for yes, no, dest, what in (
            ('--disable', '--enable', 'disabled', 'cordon it: no more nodes'),
            ('--down', '--up', 'forced_down', 'force it down: fence it'),
        ):
            group = parser.add_mutually_exclusive_group()
            for option, value, text in (
                (yes, True, what),
                (no, False, f'undo {yes}'),
            ):
                group.add_argument(
                    option,
                    dest=dest,
                    action='store_const',
                    const=value,
                    help=text,
                )
        parser.add_argument(
            '--disable-reason',
            dest='disabled_reason',
            type=change.reason_text,
            metavar='TEXT',
            help='why it is disabled, for other operators (with --disable)',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        if parsed_args.disabled_reason is not None and not (
            parsed_args.disabled
        ):
            raise errors.UsageError('--disable-reason goes with --disable')
        if parsed_args.disabled is None and parsed_args.forced_down is None:
            raise errors.UsageError(
                'nothing to set',
                hint='Add --disable, --enable, --down or --up',
            )
        return super().take_action(parsed_args)

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        names = 'disabled', 'disabled_reason', 'forced_down'
        given = {name: getattr(parsed_args, name) for name in names}
        wanted = {k: value for k, value in given.items() if value is not None}
        return {**wanted, **super().body(parsed_args)}

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        if not proposal['changed']:
            return ''
        return (
            f'set {", ".join(proposal["changed"])} of service '
            f'{proposal["host"]}'
        )


class DeleteService(change.ChangeCommand, base.Lister):
    """Delete a service that owns nothing and does not run.

    All gates are shown, with everything that remains of the service. If one
    fails, the exit code is 3 and nothing is changed. The provider of its
    capacity in Placement is deleted, too.
    """

    operation = 'service:delete'
    examples = (
        'service delete rack1 --dry-run',
        'service delete rack1 --yes',
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        return self.rows(
            self.described.columns, self.operate(parsed_args)['gates']
        )

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        return f'delete service {proposal["host"]}'

    def refusals(self, proposal: Body) -> Sequence[str]:
        failed = [g['gate'] for g in proposal['gates'] if not g['passed']]
        what = f'service {proposal["host"]} is not deleted'
        return [f'{what}, refused by: {", ".join(failed)}'] if failed else []


class FailoverService(change.ChangeOne):
    """Make a standby the active process of its service.

    The active process is fenced immediately, and stands by from then on. No
    node changes owner. The command waits until the standby has taken over.
    """

    operation = 'service:failover'
    notes = """\
Refused, with exit code 3, if no process stands by, if several do and none is
named with --to, or if the service is forced down. If the standby does not
take over, because it dies at that moment, the exit code is 4, and the process
that was active registers again automatically."""
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

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        return {'to': parsed_args.to} if parsed_args.to else {}

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
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
