"""``compute node explain``: the owner of a node, the reason, and advice."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.resources.explanation import COLUMNS
from ironic_ownership.cli import base, compute_node
from ironic_ownership.observe import columns

_WIDTH = 76


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
        return readable(cell)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.api.call(
            'compute_node:explain', path={'node': parsed_args.node}
        )
        return self.cells(COLUMNS, body)


def readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as text for people, one line for each thing."""
    if isinstance(cell, Mapping):
        # The empty conductor group is a value and has to be visible.
        return '\n'.join(
            f'{k}: {repr(v) if v == "" else columns.readable(v)}'
            for k, v in cell.items()
        )
    if isinstance(cell, list) and cell:
        if isinstance(cell[0], Mapping):
            return '\n'.join(line for row in cell for line in _lines(row))
        if any(' ' in text for text in cell):
            return '\n'.join(_wrap(text, '* ') for text in cell)
    if isinstance(cell, str) and len(cell) > _WIDTH:
        return _wrap(cell, '')
    return columns.readable(cell)


def _lines(member: Mapping[str, Any]) -> Sequence[str]:
    return [
        _wrap(f'{member["host"]}: {member["why"]}', ''),
        *(
            _wrap(f'{_policy(result)}: {result["says"]}', '  - ')
            for result in member['policies']
        ),
    ]


def _policy(result: Mapping[str, Any]) -> str:
    # A service of another release may not know the values.
    values = columns.text(result.get('member_values', {}))
    shown = '; '.join(
        part
        for part in (
            str(columns.text(result['options'])),
            f'for itself {values}' if values else '',
        )
        if part
    )
    name = str(result['policy'])
    return f'{name} ({shown})' if shown else name


def _wrap(text: str, bullet: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=' ' * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
