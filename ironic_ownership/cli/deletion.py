"""``compute node check-delete`` and ``compute node delete``."""

from __future__ import annotations

import argparse

from ironic_ownership.cli import base, errors, gated_change
from ironic_ownership.engine.gates import Outcome

_GATES = """\
gates, every one of them evaluated for every node:
  node_is_gone    Ironic answers 404 for its uuid, asked without any filter
  no_instance     no instance is on record for it
  no_allocation   its provider in Placement has no allocation
  still_owner     the record still has the owner seen
  no_mass_loss    not too many nodes of its owner are missing together
  sees_all_nodes  the credential lists as many nodes as Ironic counts

A gate that cannot be evaluated has failed. They cannot be overridden. The
column "hint" has the action for each that fails; an instance on record of a
node that is gone is closed by "instance forget"."""


class CheckDeleteComputeNode(base.Lister):
    """Evaluate every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one not.
    """

    operation = 'compute_node:bulk_check_delete'
    notes = _GATES
    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        gated_change.add_names(parser, gated_change.GatedChange.given)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership.api.resources.compute_node_deletion import (
            OUTCOME,
        )

        answer = self.api.call(
            self.operation,
            body={'uuids': gated_change.uuids_of(self.api, parsed_args.names)},
        )
        outcomes = [Outcome(gate[OUTCOME]) for gate in answer['gates']]
        if not all(outcome.passed for outcome in outcomes):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(self.described.columns, answer['gates'])


class DeleteComputeNode(gated_change.GatedChange):
    """Delete the records, and the providers, of nodes that are gone.

    A service does that by itself for its own nodes. This command acts in its
    place, whether it is alive or not: behind the same gates, and only if the
    record still has the owner for which they were evaluated. A node that
    fails a gate keeps its record and its provider, and the others are
    deleted.
    """

    operation, verb = 'compute_node:bulk_delete', 'delete'
    notes = _GATES
    examples = (
        'compute node delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11 --dry-run',
        'compute node delete rack1-node7 rack1-node8 --yes',
    )
