"""``instance forget``: instances on record of nodes that are gone."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.errors import details_of
from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.cli.deletion import uuids_of
from ironic_ownership.cli.service_change import reason_text
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.operations.forget_instances import Result
from ironic_ownership.observe import instance_removal as shown

_Row = Mapping[str, Any]


class ForgetInstance(base.Lister):
    """Close instances on record whose node Ironic does not have.

    The record of a node with an instance is never deleted. When Ironic has
    lost the node for good, and the instance with it, this command closes the
    instance; the owner, or "compute node delete", deletes the record then.
    Make sure first that the instance no longer exists in the service that
    made it. Instances that a gate refuses stay on record, and the exit code
    is 3.
    """

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
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        uuids = uuids_of(self.api, parsed_args.instances)
        reason = parsed_args.reason
        if parsed_args.dry_run or not parsed_args.yes:
            rows = self._rows(uuids, reason, dry_run=True)
            passed = [r for r in rows if r['result'] == Result.WOULD_FORGET]
            if parsed_args.dry_run or not passed:
                return self._shown(rows)
            names = [row['instance_uuid'] for row in passed]
            confirmation.confirm(parsed_args, f'Forget {_phrase(names)}')
        change = f'forget {_phrase(uuids)}'
        confirmation.announce(self.api.request_id, change)
        try:
            rows = self._rows(uuids, reason, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code != 'gates_failed':
                raise
            rows = details_of(exc)['nodes']
        return self._shown(rows)

    def _shown(self, rows: Sequence[_Row]) -> base.Table:
        if any(row['result'] == Result.REFUSED for row in rows):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(shown.RESULTS, rows)

    def _rows(
        self, uuids: Sequence[str], reason: str, *, dry_run: bool
    ) -> Sequence[_Row]:
        answer = self.api.call(
            'instance:forget',
            body={'uuids': uuids, 'reason': reason, 'dry_run': dry_run},
        )
        rows: Sequence[_Row] = answer['instances']
        return rows


def _phrase(names: Sequence[str]) -> str:
    rest = f' and {len(names) - 1} more' if len(names) > 1 else ''
    return f'the instance {names[0]}{rest}'
