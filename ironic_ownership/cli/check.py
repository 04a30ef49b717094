"""``check``: find the problems of the deployment."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from typing import Any

from ironic_ownership.cli import base, errors
from ironic_ownership.observe import columns

_FEW = 3
"""Number of subjects that are named unless all are requested."""

_WIDTH = 48


class Check(base.Lister):
    """Check that every node is owned by one service, and list all problems.

    Reads Ironic, the records and the members, and changes nothing.
    """

    notes = """\
The exit code is 0 without problems, and 4 with any, which includes an outage
of Ironic, the records or the membership; the skipped checks are then named.
With a shard key in the configuration nodes are listed shard by shard; nodes
without a shard are then counted and not checked."""
    examples = ('check', 'check --long', 'check -f json')
    nothing = 'No problems found'

    operation = 'check:show'
    long = f'name all subjects of a problem, not only {_FEW}'

    def words(self, cell: Any) -> Any:
        return _readable(cell)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        found = self.read(parsed_args)['problems']
        if found:
            self.exit_code = errors.ExitCode.DEGRADED
        if not parsed_args.long:
            found = [_shortened(one) for one in found]
        return self.rows(self.described.columns, found)


def _shortened(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem with its first subjects; ``count`` has them all."""
    return {
        **problem,
        'subjects': problem['subjects'][:_FEW],
        'services': problem['services'][:_FEW],
    }


def _readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as text for people, in narrow columns."""
    if isinstance(cell, list) and cell:
        return '\n'.join(cell)
    text = columns.readable(cell)
    if not isinstance(text, str):
        return text
    return textwrap.fill(
        text, _WIDTH, break_long_words=False, break_on_hyphens=False
    )
