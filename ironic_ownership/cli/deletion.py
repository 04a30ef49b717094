"""``compute node check-delete`` and ``compute node delete``."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import model
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import deletion as shown

if TYPE_CHECKING:
    from ironic_ownership.engine.operations.delete_nodes import DeleteNodes

_GATES = """\
gates, every one of them judged for every node:
  node_is_gone    Ironic answers 404 for its uuid, asked without any filter
  no_instance     no instance is on record for it
  no_allocation   nobody holds an allocation of its provider in Placement
  still_owner     the record still has the owner seen
  no_mass_loss    not too many nodes of its owner are missing at once
  sees_all_nodes  the credential lists as many nodes as Ironic counts

A gate that cannot be judged has failed. They cannot be overridden."""


class _Deletion(base.Lister):
    """A command about records whose nodes are gone."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with the nodes."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'nodes',
            metavar='UUID|NAME',
            nargs='+',
            help='uuid of a node, or its name on record',
        )
        return parser

    @functools.cached_property
    def request_id(self) -> str:
        """The id that Ironic and Placement write into their logs."""
        return new_id()

    @functools.cached_property
    def operation(self) -> DeleteNodes:
        """The operation behind both commands."""
        from ironic_ownership.engine.operations.delete_nodes import DeleteNodes

        wired = self.wiring
        return DeleteNodes(
            wired.ready_records(),
            wired.inventory_of(self.request_id),
            wired.placement_of(self.request_id),
            wired.limits,
            wired.scope,
        )


class CheckDeleteComputeNode(_Deletion):
    """Judge every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one not.
    """

    notes = _GATES
    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Evaluate the gates of the nodes."""
        proposed = self.operation.propose(parsed_args.nodes)
        if proposed.refused:
            self.exit_code = errors.ExitCode.REFUSED
        gates = [gate for n in proposed.nodes for gate in shown.gates_of(n)]
        return self.table(shown.GATES, gates)


class DeleteComputeNode(_Deletion):
    """Delete the records, and the providers, of nodes that are gone.

    A service does that by itself for its own nodes. This command acts in its
    place, whether it is alive or not: under the same gates, and only if the
    record still has the owner for which they were judged. A node that fails
    a gate keeps its record and its provider, and the others are deleted.
    """

    notes = _GATES
    examples = (
        'compute node delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11 --dry-run',
        'compute node delete rack1-node7 rack1-node8 --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Delete the nodes whose gates are all passed."""
        deletion = self.operation.propose(parsed_args.nodes)
        passed = [n for n in deletion.nodes if not n.refused]
        if passed and not parsed_args.dry_run:
            self._confirm(parsed_args, [n.record for n in passed])
            deletion = self.operation.execute(
                deletion,
                self.wiring.ready_removals(),
                actor=confirmation.actor(),
            )
        if deletion.refused:
            self.exit_code = errors.ExitCode.REFUSED
        return self.table(shown.RESULTS, deletion.nodes)

    def _confirm(
        self, args: argparse.Namespace, records: Sequence[model.ComputeNode]
    ) -> None:
        one = records[0]
        rest = f' and {len(records) - 1} more' if len(records) > 1 else ''
        what = f'delete compute node {one.name or one.uuid}{rest}'
        confirmation.confirm(args, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(self.request_id, what)
