"""``service set`` and ``service delete``: what operators do to services.

Neither asks Ironic for anything, so both work while it is down. What a
service reported to Placement of itself is deleted with it.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.operations import delete_service, set_service
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import columns, service_change

LOG = logging.getLogger(__name__)

_LONGEST_REASON = 255


def add_host(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a service."""
    parser.add_argument(
        'host',
        metavar='HOST',
        help='its host name as in "service list"; case does not count',
    )


class SetService(base.ShowOne):
    """Enable or disable a service, or force it down.

    A disabled service is given no nodes and keeps those that it has. One
    that is forced down may not write at all from that moment on, even if its
    process still runs; when that is taken back it registers anew by itself.
    """

    notes = (
        '"changed" names the settings that are not as before; a command that '
        'is\nrepeated changes nothing.'
    )
    examples = (
        'service set rack1 --disable --disable-reason "new fans"',
        'service set rack1 --down --yes',
        'service set rack1 --up --enable',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        add_host(parser)
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
            type=_reason,
            metavar='TEXT',
            help='why it is disabled, for others to read (with --disable)',
        )
        confirmation.add_arguments(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Set what the options say."""
        asked = parsed_args
        if asked.disable_reason is not None and not asked.disabled:
            raise errors.UsageError('--disable-reason goes with --disable')
        if asked.disabled is None and asked.forced_down is None:
            raise errors.UsageError(
                'nothing to set',
                hint='Say --disable, --enable, --down or --up',
            )
        wanted = set_service.Settings(
            asked.disabled, asked.disable_reason, asked.forced_down
        )
        operation = set_service.SetService(self.wiring.ready_records())
        change = operation.propose(asked.host, wanted)
        request_id = new_id()
        if change.changed and not asked.dry_run:
            host = change.before.host
            what = f'set {", ".join(change.changed)} of service {host}'
            confirmation.confirm(asked, f'{what[0].upper()}{what[1:]}')
            confirmation.announce(request_id, what)
            change = operation.execute(change, actor=confirmation.actor())
        shown = service_change.CHANGE
        return (
            (*columns.keys(shown), 'dry_run', 'request_id'),
            (*columns.row(shown, change), asked.dry_run, request_id),
        )


class DeleteService(base.Lister):
    """Delete a service that owns nothing any more and does not run.

    All gates are shown, and with them what is left of the service. If one is
    not passed the exit code is 3, and nothing is changed.
    """

    examples = (
        'service delete rack1 --dry-run',
        'service delete rack1 --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        add_host(parser)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Delete the service, if every gate is passed."""
        request_id = new_id()
        operation = delete_service.DeleteService(
            self.wiring.ready_records(),
            self.wiring.backend,
            lambda: (
                self.wiring.placement_of(request_id)
                if self.wiring.reports_inventory
                else None
            ),
        )
        deletion = operation.propose(parsed_args.host)
        for warning in deletion.warnings:
            LOG.warning('%s', ' '.join(warning.split()))
        if deletion.refused:
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error(
                'service %s is not deleted, refused by: %s',
                deletion.host,
                ', '.join(result.gate for result in deletion.refused),
            )
        elif not parsed_args.dry_run:
            what = f'delete service {deletion.host}'
            confirmation.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
            confirmation.announce(request_id, what)
            try:
                operation.execute(deletion, actor=confirmation.actor())
            except (
                # Something was given to it after the gates were evaluated.
                exceptions.ServiceInUseError,
                exceptions.ProviderInUseError,
            ) as exc:
                self.exit_code = errors.ExitCode.REFUSED
                LOG.error('%s: %s', request_id, errors.line(exc))
        return self.table(service_change.GATES, deletion.gates)


def _reason(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_REASON:
        raise argparse.ArgumentTypeError(
            f'a reason has 1 to {_LONGEST_REASON} characters'
        )
    return text
