"""``compute node release``: free nodes leave a service that runs."""

from __future__ import annotations

import argparse
from typing import Any

from ironic_ownership.cli import gated_change
from ironic_ownership.cli.service_change import reason_text


class ReleaseComputeNode(gated_change.GatedChange):
    """Release free nodes, so that their policies choose the owner again.

    For nodes that left the shard or conductor group of their service, which
    continues to serve all others: nothing has to be stopped. The command
    waits until no service can act on the nodes (a third of member_ttl); then
    the service in the column "next_service" claims them at its next refresh.
    To name the new service, use "compute node move". Nodes that a gate
    refuses keep their owner, and the exit code is 3.
    """

    operation, verb = 'compute_node:release', 'release'
    examples = (
        'compute node release rack1-node7 --dry-run',
        'compute node release rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )

    def get_epilog(self) -> str:
        from ironic_ownership.engine import gates
        from ironic_ownership.engine.changes.gates import RELEASE

        return (
            f'gates, none of which can be overridden:\n{gates.table(RELEASE)}'
            '\n\n'
            f'{super().get_epilog()}'
        )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--reason',
            type=reason_text,
            metavar='TEXT',
            help='why; stored in the events',
        )
        return parser

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        reason = parsed_args.reason
        return {'reason': reason} if reason else {}
