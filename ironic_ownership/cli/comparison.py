"""The base of the commands that compare owners before and after.

A table shows flows, or nodes, and then the sums. JSON and YAML have all of
it as one object.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.api.resources.comparison import FLOW, NODE
from ironic_ownership.cli import base

_WHOLE = frozenset(('json', 'yaml'))


class Comparison(base.Lister):
    """A command that shows which nodes would change owner."""

    _outcome: dict[str, Any]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--nodes',
            action='store_true',
            help='show each node instead of the sums of each flow; in JSON '
            'and YAML, besides them',
        )
        return parser

    def compared(self, body: dict[str, Any]) -> base.Table:
        """Return the table of what would change."""
        self.warn(body)
        self._outcome = {
            key: value
            for key, value in body.items()
            if key not in ('warnings', 'notes')
        }
        if 'changes' in body:
            return self.rows(NODE, body['changes'])
        return self.rows(FLOW, body['flows'])

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        stdout = self.app.stdout
        if parsed_args.formatter in _WHOLE and not parsed_args.columns:
            formatter: Any = self.formatter
            formatter.emit_one(
                list(self._outcome),
                list(self._outcome.values()),
                stdout,
                parsed_args,
            )
            return 0
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            stdout.write(f'{_summary(self._outcome)}\n')
        return code


def _summary(shown: Mapping[str, Any]) -> str:
    """Return the sums in a few lines."""
    nodes, moves = shown['nodes'], shown['moves']
    share = moves / nodes if nodes else 0.0
    first = f'{moves} of {nodes} nodes would move ({share:.1%}), '
    lines = [f'{first}{shown["instances"]} of them with an instance']
    if shown['stranded']:
        lines.append(
            f'{shown["stranded"]} nodes with an instance would be stranded: '
            'their owner would be gone, and only an operator could move them'
        )
    if shown['unserved']:
        lines.append(
            f'{shown["unserved"]} nodes without an instance would stay with '
            'an owner that would be gone'
        )
    return '\n'.join(lines)
