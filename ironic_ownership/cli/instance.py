"""``instance forget``: instances on record of nodes that are gone."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ironic_ownership.api.resources import instances
from ironic_ownership.cli import base, gated_change
from ironic_ownership.cli.service_change import reason_text


class ForgetInstance(gated_change.GatedChange):
    """Close instances on record whose node Ironic does not have.

    The record of a node with an instance is never deleted. When Ironic has
    lost the node for good, and the instance with it, this command closes the
    instance; the owner, or "compute node delete", deletes the record then.
    Make sure first that the instance no longer exists in the service that
    made it. Instances that a gate refuses stay on record, and the exit code
    is 3.
    """

    verb, thing, shown = 'forget', 'the instance', instances.RESULTS
    notes = (
        'The gates are those of "compute node delete", without no_instance.\n'
        'They cannot be overridden.'
    )
    examples = (
        'instance forget rack1-node7 --reason "machine scrapped" --dry-run',
        'instance forget rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'instances',
            metavar='UUID|NAME',
            nargs='+',
            help='uuid of an instance, or uuid or name of its node',
        )
        parser.add_argument(
            '--reason',
            required=True,
            type=reason_text,
            metavar='TEXT',
            help='why it no longer exists; stored in the event',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        return self.change(parsed_args, parsed_args.instances)

    def name(self, row: gated_change.Row) -> str:
        return str(row['instance_uuid'])

    def send(
        self,
        parsed_args: argparse.Namespace,
        uuids: Sequence[str],
        *,
        dry_run: bool,
    ) -> Sequence[gated_change.Row]:
        answer = self.api.call(
            'instance:forget',
            body={
                'uuids': uuids,
                'reason': parsed_args.reason,
                'dry_run': dry_run,
            },
        )
        rows: Sequence[gated_change.Row] = answer['instances']
        return rows
