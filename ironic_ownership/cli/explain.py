"""``compute node explain``: who owns a node, why, and what to do about it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base, node_lookup
from ironic_ownership.observe import columns, explanation


class ExplainComputeNode(base.ShowOne):
    """Explain who owns a node: inputs, members, policies, rule, record.

    The answer depends on Ironic, the records and the members, and on nothing
    in the configuration of this machine but where to find these.
    """

    notes = """\
"members" are all services that are known, each with why it is considered for
the node or is not, and with what each of its policies says. "rule" is the
rule that led to the decision, "record" what the database says, "ironic" what
Ironic says now (nothing if it answers 404), and "advice" what can be done.
A node is asked for by its uuid, without any filter. A name is looked for
first, as by "compute node show"."""
    examples = (
        'compute node explain 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node explain rack1-node7 -f json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'node', metavar='UUID|NAME', help='uuid or name of the node'
        )
        return parser

    def words(self, cell: Any) -> Any:
        """Put a link of the chain into words, one line for each thing."""
        return explanation.readable(cell)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Explain the node."""
        uuid = node_lookup.uuid_of(self, parsed_args.node)
        said = node_lookup.explained(self, uuid)
        shown = explanation.COLUMNS
        return columns.keys(shown), columns.row(shown, said)
