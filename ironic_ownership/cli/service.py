"""``service list`` and ``service show``: from records and membership.

Both work while the membership backend is down, with a warning. Ironic is read
for the long list only.
"""

from __future__ import annotations

import argparse

from ironic_ownership.api.resources import services
from ironic_ownership.cli import base

_NOTES = """\
"alive" is what the membership backend sees: up; standby, while only
processes are alive that stand by; away, if it was stopped for a while and its
nodes wait for it; or down. If the backend does not answer, alive is
"unknown" and the exit code is 4. "status" and "forced_down"
are an operator's doing; neither a disabled nor a forced-down service is given
nodes."""

_LONG_NOTES = """\
With --long, "free" are nodes without an instance. "unavailable" are nodes,
free or not, that could not be given to a client now: in maintenance, retired,
with a power error, or in a provision state other than available and active;
unknown, and the exit code 4, if Ironic does not answer. "of_mean" is the
number of nodes, divided by the number that the service should have: by the
shares that the assigner of its ring declares, or else the mean of the ring, or
without a ring that of all services without one."""


class ListService(base.Lister):
    """List the compute services: alive or not, and how much they own."""

    notes = f'{_NOTES}\n\n{_LONG_NOTES}'
    examples = ('service list', 'service list --long -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show how much of it is free and unavailable, its '
            'share against the mean, whether it is fenced, why it is '
            'disabled, when it registered, its policies and their settings',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        body = self.api.call(
            'service:list', query={'long': parsed_args.long or None}
        )
        self.warn(body)
        if not body['services']:
            base.LOG.warning('no services are registered')
        shown = services.LONG if parsed_args.long else services.SHORT
        return self.rows(shown, body['services'])


class ShowService(base.ShowOne):
    """Show one compute service: row, membership, settings, nodes owned."""

    notes = _NOTES
    examples = ('service show rack1', 'service show rack1 -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'host',
            metavar='HOST',
            help='its host name as in "service list"; case does not count',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.api.call('service:show', path={'host': parsed_args.host})
        self.warn(body)
        return self.cells(services.DETAILS, body)
