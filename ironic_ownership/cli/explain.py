"""``compute node explain``: the owner of a node, the reason, and advice."""

from __future__ import annotations

import argparse
from typing import Any

from ironic_ownership.cli import base, compute_node
from ironic_ownership.observe import explanation


class ExplainComputeNode(base.ShowOne):
    """Explain the owner of a node: inputs, members, policies, rule, record.

    The answer depends on Ironic, the records and the members only; the
    configuration of this machine just says where to find these.
    """

    notes = """\
"members" are all known services, each with the reason why it is considered
for the node or not, and with the result of each of its policies. "rule" is
the rule that led to the decision, "record" the row in the database, "ironic"
the node in Ironic now (nothing if it answers 404), and "advice" what can be
done. The node is found in any shard and conductor group."""
    examples = (
        'compute node explain 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node explain rack1-node7 -f json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        compute_node.add_node(parser)
        return parser

    def words(self, cell: Any) -> Any:
        return explanation.readable(cell)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.api.call(
            'compute_node:explain', path={'node': parsed_args.node}
        )
        return self.cells(explanation.COLUMNS, body)
