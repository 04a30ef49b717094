"""The base of the commands that compare owners before and after.

A table shows flows, or nodes, and then the sums. JSON and YAML have all of
it as one object.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ironic_ownership.cli import base
from ironic_ownership.observe import preview

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
            return self.rows(preview.NODE, body['changes'])
        return self.rows(preview.FLOW, body['flows'])

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
            stdout.write(f'{preview.summary(self._outcome)}\n')
        return code
