"""``compute node check-action``: whether a node may be acted on now."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, node_lookup
from ironic_ownership.engine.queries import action_check
from ironic_ownership.observe import check_action, columns


class CheckActionComputeNode(base.ShowOne):
    """Tell whether a node can be acted on now, and by which service.

    The node is in service, a service owns it, and that service is alive and
    may act on it. Otherwise the error says which of these does not hold; of a
    node that is out of service it names driver, conductor group and the
    conductors that are needed.
    """

    notes = """\
The exit code is 0 if the node can be acted on, 3 if not, and 1 if that could
not be found out."""
    examples = (
        'compute node check-action 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-action rack1-node7 -f value -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'node', metavar='UUID|NAME', help='uuid or name of the node'
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Judge the node."""
        uuid = node_lookup.uuid_of(self, parsed_args.node)
        allowed = action_check.check(self.ports, uuid, lambda: self.sharded)
        shown = check_action.COLUMNS
        return columns.keys(shown), columns.row(shown, allowed)
