"""``service list`` and ``service show``: from records and membership.

They say what they can while the membership backend is down. Ironic is asked
for the long list only, which leaves out what it does not answer.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership import wiring
from ironic_ownership.cli import command, failures
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.observe import columns, service

if TYPE_CHECKING:
    from ironic_ownership.engine import balance

LOG = logging.getLogger(__name__)

_NOTES = """\
"alive" is what the membership backend sees: up or down. If it does not
answer, alive is "unknown" and the exit code is 4. "status" and "forced_down"
are an operator's doing; neither a disabled nor a forced-down service is given
nodes."""

_LONG_NOTES = """\
With --long, "free" are nodes without an instance. "unavailable" are nodes,
free or not, that could not be given to anybody now: in maintenance, retired,
with a power error, or in a provision state other than available and active;
unknown, and the exit code 4, if Ironic does not answer. "of_mean" is the
number of nodes against the mean: that of its ring, or without a ring that of
all services without one."""


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

    notes = f'{_NOTES}\n\n{_LONG_NOTES}'
    examples = ('service list', 'service list --long -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show how much of it is free and unavailable, its '
            'share against the mean, whether it is fenced, why it is '
            'disabled, when it registered, its policies and their settings',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """List the services."""
        found = self.standings(self)
        if parsed_args.long:
            return self.table(service.LONG, self._weighed(found))
        return self.table(service.SHORT, found)

    def _weighed(
        self, found: Sequence[service.Standing]
    ) -> Sequence[service.Standing]:
        """Add to each service what is known of its load."""
        from ironic_ownership.engine import balance, overview, roster

        seen = overview.read(self.sources, sharded=self.sharded)
        for part, error in seen.unread.items():
            if part is overview.Part.RECORDS:
                raise error
            LOG.warning('%s is unknown: %s', part, failures.line(error))
            self.exit_code = failures.ExitCode.DEGRADED
        nodes = seen.nodes.listed if seen.nodes else None
        if seen.nodes and seen.nodes.unlisted:
            LOG.warning(
                'what is unavailable is unknown: %s nodes without a shard '
                'may not be listed with a shard key set',
                seen.nodes.unlisted,
            )
            self.exit_code, nodes = failures.ExitCode.DEGRADED, None
        found_roster = (
            roster.Roster.of(seen.view, seen.services or (), wiring.interpret)
            if seen.view
            else None
        )
        loads = balance.loads(
            [standing.row.host for standing in found],
            seen.records or (),
            nodes,
            found_roster,
        )
        return [_with_load(s, loads[s.row.host]) for s in found]


def _with_load(
    standing: service.Standing, load: balance.Load
) -> service.Standing:
    return dataclasses.replace(
        standing,
        nodes=load.nodes,
        instances=load.instances,
        unavailable=load.unavailable,
        of_mean=load.of_mean,
    )


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
