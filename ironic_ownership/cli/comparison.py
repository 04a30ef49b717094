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
from ironic_ownership.cli import base, errors
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import scenario
from ironic_ownership.engine.decision.preview import Preview, compare
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.observe import preview as observe_preview

LOG = logging.getLogger(__name__)

_WHOLE = frozenset(('json', 'yaml'))


class Comparison(base.Lister):
    """A command that shows which nodes would change owner."""

    _outcome: Preview

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

    def read(self) -> deployment_snapshot.DeploymentSnapshot:
        """Read everything; what may not be listed makes it degraded.

        :raises OwnershipError: if any of it can't be read.
        """
        seen = deployment_snapshot.read(self.sources, sharded=self.sharded)
        seen.require()
        if seen.nodes is not None and seen.nodes.unlisted:
            self.exit_code = errors.ExitCode.DEGRADED
            LOG.warning(
                '%s nodes without a shard are left out: with a shard key '
                'set they may not be listed',
                seen.nodes.unlisted,
            )
        return seen

    def compared(
        self,
        seen: deployment_snapshot.DeploymentSnapshot,
        records: Mapping[str, model.ComputeNode],
        before: scenario.Situation,
        after: scenario.Situation,
        *,
        nodes: bool,
    ) -> base.Table:
        """Return the table of what would change."""
        listed = seen.nodes.listed if seen.nodes else ()
        self._outcome = compare(
            listed,
            records,
            before.peer_groups(wiring.interpret),
            after.peer_groups(wiring.interpret),
        )
        if nodes:
            return self.table(
                observe_preview.NODE, observe_preview.changes(self._outcome)
            )
        return self.table(observe_preview.FLOW, self._outcome.flows())

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        """Show one object, or a table and the sums below it."""
        stdout = self.app.stdout
        if parsed_args.formatter in _WHOLE and not parsed_args.columns:
            whole = observe_preview.whole(
                self._outcome, nodes=parsed_args.nodes
            )
            formatter: Any = self.formatter
            formatter.emit_one(
                list(whole), list(whole.values()), stdout, parsed_args
            )
            return 0
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            stdout.write(f'{observe_preview.summary(self._outcome)}\n')
        return code
