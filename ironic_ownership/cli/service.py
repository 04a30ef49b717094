"""``service list`` and ``service show``: from records and membership only.

They work while Ironic is down, and say what they can while the membership
backend is.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import command, failures
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.observe import columns, service

LOG = logging.getLogger(__name__)

_NOTES = """\
"alive" is what the membership backend sees: up or down. If it does not
answer, alive is "unknown" and the exit code is 4. "status" and "forced_down"
are an operator's doing; neither a disabled nor a forced-down service is given
nodes."""


class _Services:
    """Reads all services, with or without an answer of the membership."""

    exit_code: failures.ExitCode

    def standings(self, shown: command.Shown[Any]) -> list[service.Standing]:
        """Return every service that has a row or is a member."""
        records = shown.wiring.ready_records()
        rows = {row.host: row for row in records.services()}
        counts = records.counts()
        view = self._view(shown)
        members = {m.host: m for m in view.members} if view else {}
        return [
            service.Standing(
                rows.get(host, model.Service(host)),
                members.get(host),
                view is not None,
                *counts.get(host, (0, 0)),
            )
            for host in sorted(rows.keys() | members.keys())
        ]

    def _view(self, shown: command.Shown[Any]) -> model.View | None:
        try:
            return shown.wiring.backend.view()
        except exceptions.MembershipError as exc:
            LOG.warning('who is alive is unknown: %s', failures.line(exc))
            self.exit_code = failures.ExitCode.DEGRADED
            return None


class ListService(_Services, command.Lister):
    """List the compute services: alive or not, and how much they own."""

    notes = _NOTES
    examples = ('service list', 'service list --long -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show whether it is fenced, why it is disabled, when '
            'it registered, its policies and their settings',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """List the services."""
        shown = service.LONG if parsed_args.long else service.SHORT
        return self.table(shown, self.standings(self))


class ShowService(_Services, command.ShowOne):
    """Show one compute service: row, membership, settings, nodes owned."""

    notes = _NOTES
    examples = ('service show rack1', 'service show rack1 -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'host',
            metavar='HOST',
            help='its host name as in "service list"; case does not count',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Show the service."""
        standings = {s.row.host: s for s in self.standings(self)}
        found = standings.get(model.canonical_host(parsed_args.host))
        if found is None:
            raise failures.unknown('service', parsed_args.host, standings)
        return columns.keys(service.DETAILS), columns.row(
            service.DETAILS, found
        )
