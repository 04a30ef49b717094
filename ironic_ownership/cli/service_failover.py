"""``service failover``: hand a service over to a process that stands by.

Asks records and membership, never Ironic: no node changes owner.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.cli.service_change import add_host
from ironic_ownership.engine.operations import fail_over_service
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import columns, service_change

LOG = logging.getLogger(__name__)


class FailoverService(base.ShowOne):
    """Make a standby the active process of its service.

    The process that is active loses its right to write at once, and stands
    by from then on. No node changes owner. The command waits until the
    standby has taken over.
    """

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
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        add_host(parser)
        parser.add_argument(
            '--to',
            metavar='INCARNATION',
            help='the process that takes over, as in "member list", or how '
            'its incarnation begins; needed if several stand by',
        )
        confirmation.add_arguments(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Hand the service over."""
        asked, request_id = parsed_args, new_id()
        operation = fail_over_service.FailOverService(
            self.wiring.ready_records(), self.wiring.backend
        )
        result = operation.propose(asked.host, asked.to)
        if result.refused:
            self.exit_code = errors.ExitCode.REFUSED
            for refused in result.refused:
                LOG.error('refused by %s: %s', refused.gate, refused.detail)
        elif not asked.dry_run:
            host = result.before.host
            what = f'hand {host} over to incarnation {result.target}'
            confirmation.confirm(asked, f'{what[0].upper()}{what[1:]}')
            confirmation.announce(request_id, what)
            result = operation.execute(result, actor=confirmation.actor())
            if not result.done:
                self.exit_code = errors.ExitCode.DEGRADED
                LOG.warning(
                    '%s did not take over: %s is served by %s',
                    result.target,
                    host,
                    'no process yet'
                    if result.after.fenced
                    else result.after.incarnation,
                )
        shown = service_change.FAILOVER
        return (
            (*columns.keys(shown), 'dry_run', 'request_id'),
            (*columns.row(shown, result), asked.dry_run, request_id),
        )
