"""``instance forget``: instances on record of nodes that are gone."""

from __future__ import annotations

import argparse
from typing import Any

from ironic_ownership.cli import gated_change
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

    operation, verb = 'instance:forget', 'forget'
    thing = 'the instance'
    given = 'uuid of an instance, or uuid or name of its node'
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
            '--reason',
            required=True,
            type=reason_text,
            metavar='TEXT',
            help='why it no longer exists; stored in the event',
        )
        return parser

    def name(self, row: gated_change.Row) -> str:
        return str(row['instance_uuid'])

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        return {'reason': parsed_args.reason}
