"""``service set`` and ``service delete``: what operators do to services.

Neither asks Ironic for anything, so both work while it is down. What a
service reported to Placement of itself is deleted with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
from collections.abc import Collection, Sequence
from typing import Any

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.deletion import service_gates
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


def known(asked: str, services: Collection[str]) -> str:
    """Return the canonical name of a service that exists.

    :raises NotFoundError: naming what is near.
    """
    host = model.canonical_host(asked)
    if host not in services:
        raise errors.unknown('service', asked, services)
    return host


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
        wanted = {
            'disabled': asked.disabled,
            'disabled_reason': asked.disable_reason,
            'forced_down': asked.forced_down,
        }
        records = self.wiring.ready_records()
        rows = {row.host: row for row in records.services()}
        before = rows[known(asked.host, rows)]
        change = service_change.Change(
            before,
            before.decided(**wanted),
            asked.dry_run,
            new_id(),
        )
        if change.changed and not asked.dry_run:
            change = self._carry_out(change, wanted, asked)
        shown = service_change.CHANGE
        return columns.keys(shown), columns.row(shown, change)

    def _carry_out(
        self,
        change: service_change.Change,
        wanted: dict[str, Any],
        asked: argparse.Namespace,
    ) -> service_change.Change:
        host = change.before.host
        what = f'set {", ".join(change.changed)} of service {host}'
        confirmation.confirm(asked, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(change.request_id, what)
        after = self.wiring.records.set_service(
            host, actor=confirmation.actor(), **wanted
        )
        return dataclasses.replace(change, after=after)


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
        verdicts = self._judge(parsed_args.host)
        host = model.canonical_host(parsed_args.host)
        failed = [v.gate.value for v in verdicts if not v.passed]
        if failed:
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error(
                'service %s is not deleted, refused by: %s',
                host,
                ', '.join(failed),
            )
        elif not parsed_args.dry_run:
            self._carry_out(host, parsed_args)
        return self.table(service_change.GATES, verdicts)

    def _judge(self, asked: str) -> list[service_gates.Verdict]:
        records = self.wiring.ready_records()
        host = known(asked, [row.host for row in records.services()])
        try:
            view = self.wiring.backend.view()
        except exceptions.MembershipError as exc:
            LOG.warning('who is alive is unknown: %s', errors.line(exc))
            view = None
        owned = [
            node
            for node in records.compute_nodes_near(
                host, model.Scope(nothing=True)
            )
            if node.host == host
        ]
        return service_gates.judge(service_gates.Evidence(host, owned, view))

    def _carry_out(self, host: str, asked: argparse.Namespace) -> None:
        request_id = new_id()
        confirmation.confirm(asked, f'Delete service {host}')
        confirmation.announce(request_id, f'delete service {host}')
        try:
            self._take_from_placement(host, request_id)
            self.wiring.records.delete_service(
                host, actor=confirmation.actor()
            )
        except (
            # Something was given to it since the gates were judged.
            exceptions.ServiceInUseError,
            exceptions.ProviderInUseError,
        ) as exc:
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error('%s: %s', request_id, errors.line(exc))

    def _take_from_placement(self, host: str, request_id: str) -> None:
        # First: while the service is there, the command can be repeated.
        from ironic_ownership.engine.placement import capacity_report

        if not self.wiring.reports_inventory:
            return
        placement = self.wiring.placement_of(request_id)
        if placement is not None:
            capacity_report.take_away(placement, host)


def _reason(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_REASON:
        raise argparse.ArgumentTypeError(
            f'a reason has 1 to {_LONGEST_REASON} characters'
        )
    return text
