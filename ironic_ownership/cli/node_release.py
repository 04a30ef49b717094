"""``compute node release``: free nodes leave a service that runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.errors import details_of
from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.cli.deletion import uuids_of
from ironic_ownership.cli.service_change import reason_text
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.operations.release_nodes import Result
from ironic_ownership.observe import node_release as shown

_Row = Mapping[str, Any]


class ReleaseComputeNode(base.Lister):
    """Release free nodes, so that their policies choose the owner again.

    For nodes that left the shard or conductor group of their service, which
    continues to serve all others: nothing has to be stopped. The command
    waits until no service can act on the nodes (a third of member_ttl); then
    the service in the column "next_service" claims them at its next refresh.
    To name the new service, use "compute node move". Nodes that a gate
    refuses keep their owner, and the exit code is 3.
    """

    examples = (
        'compute node release rack1-node7 --dry-run',
        'compute node release rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )

    def get_epilog(self) -> str:
        from ironic_ownership.engine.moves.release_gates import Gate

        gates = '\n'.join(f'  {gate:<24}  {gate.help}' for gate in Gate)
        return (
            f'gates, none of which can be overridden:\n{gates}\n\n'
            f'{super().get_epilog()}'
        )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'nodes',
            metavar='UUID|NAME',
            nargs='+',
            help='uuid of a node, or its name on record',
        )
        parser.add_argument(
            '--reason',
            type=reason_text,
            metavar='TEXT',
            help='why; stored in the events',
        )
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        uuids = uuids_of(self.api, parsed_args.nodes)
        reason = parsed_args.reason
        if parsed_args.dry_run or not parsed_args.yes:
            rows = self._rows(uuids, reason, dry_run=True)
            passed = [r for r in rows if r['result'] == Result.WOULD_RELEASE]
            if parsed_args.dry_run or not passed:
                return self._shown(rows)
            names = [row['name'] or row['uuid'] for row in passed]
            confirmation.confirm(parsed_args, f'Release {_phrase(names)}')
        change = f'release {_phrase(parsed_args.nodes)}'
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
        self, uuids: Sequence[str], reason: str | None, *, dry_run: bool
    ) -> Sequence[_Row]:
        answer = self.api.call(
            'compute_node:release',
            body={
                'uuids': uuids,
                **({'reason': reason} if reason else {}),
                'dry_run': dry_run,
            },
        )
        rows: Sequence[_Row] = answer['nodes']
        return rows


def _phrase(names: Sequence[str]) -> str:
    rest = f' and {len(names) - 1} more' if len(names) > 1 else ''
    return f'compute node {names[0]}{rest}'
