"""``service set`` and ``service delete``; both work while Ironic is down."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.cli.confirmation import Body

_MAX_REASON = 255


class SetService(confirmation.WritingCommand, base.ShowOne):
    """Enable or disable a service, or force it down.

    A disabled service is given no nodes and keeps those that it has. A
    forced-down service loses its right to write immediately, even if its
    process still runs; when that is taken back, it registers again by
    itself.
    """

    operation = 'service:set'
    notes = (
        '"changed" names the settings that are not as before; a command that '
        'is\nrepeated changes nothing.'
    )
    examples = (
        'service set rack1 --disable --disable-reason "new fans"',
        'service set rack1 --down --reason "host is on fire" --yes',
        'service set rack1 --up --enable',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for yes, no, dest, what in (
            ('--disable', '--enable', 'disabled', 'give it no more nodes'),
            ('--down', '--up', 'forced_down', 'take its right to write away'),
        ):
            group = parser.add_mutually_exclusive_group()
            for option, value, text in (
                (yes, True, what),
                (no, False, f'take {yes} back'),
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
            type=reason_text,
            metavar='TEXT',
            help='why it is disabled, for other operators (with --disable)',
        )
        parser.add_argument(
            '--reason',
            type=reason_text,
            metavar='TEXT',
            help='why; stored in the event, see "event list"',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        if parsed_args.disabled_reason is not None and not (
            parsed_args.disabled
        ):
            raise errors.UsageError('--disable-reason goes with --disable')
        if parsed_args.disabled is None and parsed_args.forced_down is None:
            raise errors.UsageError(
                'nothing to set',
                hint='Add --disable, --enable, --down or --up',
            )
        body = self.operate(parsed_args)
        return self.cells(
            self.described.columns, body, 'dry_run', 'request_id'
        )

    def body(self, parsed_args: argparse.Namespace) -> Body:
        names = 'disabled', 'disabled_reason', 'forced_down', 'reason'
        given = {name: getattr(parsed_args, name) for name in names}
        return {k: value for k, value in given.items() if value is not None}

    def describe(self, proposal: Body) -> str:
        if not proposal['changed']:
            return ''
        return (
            f'set {", ".join(proposal["changed"])} of service '
            f'{proposal["host"]}'
        )


class DeleteService(confirmation.WritingCommand, base.Lister):
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

    def describe(self, proposal: Body) -> str:
        return f'delete service {proposal["host"]}'

    def refusals(self, proposal: Body) -> Sequence[str]:
        failed = [g['gate'] for g in proposal['gates'] if not g['passed']]
        what = f'service {proposal["host"]} is not deleted'
        return [f'{what}, refused by: {", ".join(failed)}'] if failed else []


def reason_text(text: str) -> str:
    """Return a reason on one line, as an argument of argparse."""
    words = ' '.join(text.split())
    if not 0 < len(words) <= _MAX_REASON:
        raise argparse.ArgumentTypeError(
            f'a reason has 1 to {_MAX_REASON} characters'
        )
    return words
