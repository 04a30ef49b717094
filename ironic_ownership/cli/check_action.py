"""``compute node check-action``: check whether a node may be acted on now."""

from __future__ import annotations

import argparse

from ironic_ownership.api.resources.compute_nodes import ACTION
from ironic_ownership.cli import base, compute_node


class CheckActionComputeNode(base.ShowOne):
    """Check whether a node can be acted on now, and by which service.

    The node is in service, a service owns it, and that service is alive and
    may act on it. Otherwise the error names the condition that does not
    hold; for a node that is out of service it names driver, conductor group
    and the conductors that are needed.
    """

    notes = """\
The exit code is 0 if the node can be acted on, 3 if not, and 1 if that is
not known."""
    examples = (
        'compute node check-action 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-action rack1-node7 -f value -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        compute_node.add_node(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.api.call(
            'compute_node:check_action', path={'node': parsed_args.node}
        )
        return self.cells(ACTION, body)
