"""What the commands have in common that compare two sets of owners.

A table shows flows, or nodes, and then the sums. JSON and YAML carry all of
it as one object.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership import wiring
from ironic_ownership.cli import command, failures
from ironic_ownership.contracts import model
from ironic_ownership.engine.deciding import preview as preview_
from ironic_ownership.engine.deciding import whatif
from ironic_ownership.engine.inspecting import overview
from ironic_ownership.observe import preview

LOG = logging.getLogger(__name__)

_WHOLE = frozenset(('json', 'yaml'))


class Comparison(command.Lister):
    """A command that shows which nodes would change owner."""

    _outcome: preview_.Preview

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--nodes',
            action='store_true',
            help='show each node instead of the sums of each flow; in JSON '
            'and YAML, besides them',
        )
        return parser

    def read(self) -> overview.Overview:
        """Read everything; what may not be listed makes it degraded.

        :raises OwnershipError: if any of it can't be read.
        """
        seen = overview.read(self.sources, sharded=self.sharded)
        seen.require()
        if seen.nodes is not None and seen.nodes.unlisted:
            self.exit_code = failures.ExitCode.DEGRADED
            LOG.warning(
                '%s nodes without a shard are left out: with a shard key '
                'set they may not be listed',
                seen.nodes.unlisted,
            )
        return seen

    def compared(
        self,
        seen: overview.Overview,
        records: Mapping[str, model.ComputeNode],
        before: whatif.Situation,
        after: whatif.Situation,
        *,
        nodes: bool,
    ) -> command.Table:
        """Return the table of what would change."""
        listed = seen.nodes.listed if seen.nodes else ()
        self._outcome = preview_.compare(
            listed,
            records,
            before.roster(wiring.interpret),
            after.roster(wiring.interpret),
        )
        if nodes:
            return self.table(preview.NODE, preview.changes(self._outcome))
        return self.table(preview.FLOW, self._outcome.flows())

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        """Show one object, or a table and the sums below it."""
        stdout = self.app.stdout
        if parsed_args.formatter in _WHOLE and not parsed_args.columns:
            whole = preview.whole(self._outcome, nodes=parsed_args.nodes)
            formatter: Any = self.formatter
            formatter.emit_one(
                list(whole), list(whole.values()), stdout, parsed_args
            )
            return 0
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            stdout.write(f'{preview.summary(self._outcome)}\n')
        return code
