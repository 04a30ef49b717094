"""``service failover``: hand a service over to a process that stands by.

Asks records and membership, never Ironic: no node changes owner.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, confirmation, errors, service_change
from ironic_ownership.contracts import model
from ironic_ownership.engine.membership import failover
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import columns
from ironic_ownership.observe import failover as shown

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
        service_change.add_host(parser)
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
        asked = parsed_args
        records = self.wiring.ready_records()
        services = records.services()
        host = service_change.known(
            asked.host, [service.host for service in services]
        )
        switch = failover.plan(
            host, services, self.wiring.backend.view(), asked.to
        )
        after = switch.service
        request_id = new_id()
        if switch.refused:
            self._refuse(switch)
        elif not asked.dry_run:
            after = self._carry_out(switch, asked, request_id)
        row = shown.Failover(
            switch.active, switch.target, after, asked.dry_run, request_id
        )
        return columns.keys(shown.FAILOVER), columns.row(shown.FAILOVER, row)

    def _refuse(self, switch: failover.Switch) -> None:
        self.exit_code = errors.ExitCode.REFUSED
        for gate, why in switch.refused:
            LOG.error('refused by %s: %s', gate, why)

    def _carry_out(
        self,
        switch: failover.Switch,
        asked: argparse.Namespace,
        request_id: str,
    ) -> model.Service:
        assert switch.target is not None
        host, target = switch.service.host, switch.target
        what = f'hand {host} over to incarnation {target}'
        confirmation.confirm(asked, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(request_id, what)
        records = self.wiring.records
        records.fail_over(host, incarnation=target, actor=confirmation.actor())
        after = failover.wait(switch, records)
        if after.fenced or after.incarnation != target:
            self.exit_code = errors.ExitCode.DEGRADED
            LOG.warning(
                '%s did not take over: %s is served by %s',
                target,
                host,
                'nobody yet' if after.fenced else after.incarnation,
            )
        return after
