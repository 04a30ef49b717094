"""``service drain``: empty a service by moving its nodes to others."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.cli import base, errors, operation_command
from ironic_ownership.contracts.moves import NodeState


class DrainService(operation_command.OperationCommand):
    """Empty a service: move each of its nodes to a service that admits it.

    Only live and enabled services take nodes; of several that admit a node,
    the one with the fewest nodes takes it, and a free node of a hash ring
    goes where the ring puts it. The service itself has to be stopped, as for
    any move. If a node cannot be moved the exit code is 3, and nothing is
    moved unless --skip-invalid is given. Each service that takes nodes gets a
    move of its own, with its own request id.
    """

    operation = 'service:drain'
    examples = (
        'service drain rack1a --dry-run',
        'service drain rack1a --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        operation_command.add_override(parser)
        return parser

    def question(self, moves: Sequence[Mapping[str, Any]]) -> str:
        rows = [row for move in moves for row in move['nodes']]
        numbers = collections.Counter(
            row['destination']
            for row in rows
            if row['state'] == NodeState.PLANNED
        )
        destinations = ', '.join(f'{n} to {to}' for to, n in numbers.items())
        return f'Move from {rows[0]["source"]}: {destinations}'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        self.check_terminal(parsed_args)
        keys, rows = self.run_operation(
            parsed_args,
            'service:drain',
            operation_command.override_body(parsed_args),
            {'host': parsed_args.host},
        )
        rows = list(rows)
        states = {row[list(keys).index('state')] for row in rows}
        if self.exit_code == errors.ExitCode.DONE and not (
            parsed_args.dry_run or NodeState.MOVED in states
        ):
            self.say(f'service {parsed_args.host}: nothing to move')
        return keys, rows
