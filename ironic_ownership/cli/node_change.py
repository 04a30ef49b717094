"""Commands that delete, check or release nodes, or forget their instances."""

from __future__ import annotations

import argparse
from typing import ClassVar

from ironic_ownership.api.resources.node_changes import OUTCOME
from ironic_ownership.cli import arguments, base, change, errors
from ironic_ownership.engine import gates
from ironic_ownership.engine.changes.gates import RELEASE
from ironic_ownership.engine.deletion.gates import GATES
from ironic_ownership.engine.gates import Outcome

_GATES = f"""\
gates, every one of them evaluated for every node:
{gates.table(GATES)}

A gate that cannot be evaluated has failed. They cannot be overridden. {{}}
An instance on record of a node that is gone is closed by "instance forget"."""


class CheckDeleteComputeNode(base.Lister):
    """Evaluate every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one could
    not.
    """

    operation = 'compute_node:bulk_check_delete'
    notes = _GATES.format(
        'The\ncolumn "hint" has the action for each that fails.'
    )
    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        change.add_names(parser, change.ItemsCommand.given)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        uuids = arguments.uuids_of(self.api, parsed_args.names)
        answer = self.api.call(self.operation, body={'uuids': uuids})
        outcomes = [Outcome(gate[OUTCOME]) for gate in answer['gates']]
        if not all(outcome.passed for outcome in outcomes):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(self.described.columns, answer['gates'])


class DeleteComputeNode(change.ItemsCommand):
    """Delete the records, and the providers, of nodes that are gone.

    A service does that automatically for its own nodes. This command acts
    in its place, whether it is alive or not: behind the same gates, and only
    if the record still has the owner for which they were evaluated. A node
    that fails a gate keeps its record and its provider, and the others are
    deleted.
    """

    operation, verb = 'compute_node:bulk_delete', 'delete'
    notes = _GATES.format(
        'The\naction for each that fails is in "compute node check-delete".'
    )
    examples = (
        'compute node delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11 --dry-run',
        'compute node delete rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )


class ReleaseComputeNode(change.ItemsCommand):
    """Release free nodes, so that their policies choose the owner again.

    For nodes that left the shard or conductor group of their service, which
    continues to serve all others: nothing has to be stopped. The command
    waits until no service can act on the nodes (a third of member_ttl); then
    the service in the column "next_service" claims them at its next refresh.
    To name the new service, use "compute node move". Nodes that a gate
    refuses keep their owner, and the exit code is 3.
    """

    operation, verb = 'compute_node:release', 'release'
    notes = f'gates, none of which can be overridden:\n{gates.table(RELEASE)}'
    examples = (
        'compute node release rack1-node7 --dry-run',
        'compute node release rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )


class ForgetInstance(change.ItemsCommand):
    """Close instances on record whose node Ironic does not have.

    The record of a node with an instance is never deleted. When Ironic has
    lost the node for good, and the instance with it, this command closes the
    instance; the owner, or "compute node delete", deletes the record then.
    Make sure first that the instance no longer exists in the service that
    made it. Instances that a gate refuses stay on record, and the exit code
    is 3.
    """

    operation, verb = 'instance:forget', 'forget'
    thing = 'the instance'
    given = 'uuid of an instance, or uuid or name of its node'
    options: ClassVar = {
        'reason': {'help': 'why it no longer exists; stored in the event'}
    }
    notes = (
        'The gates are those of "compute node delete", without no_instance.\n'
        'They cannot be overridden.'
    )
    examples = (
        'instance forget rack1-node7 --reason "machine scrapped" --dry-run',
        'instance forget rack1-node7 rack1-node8 --reason CHG-42 --yes',
    )

    def name(self, row: change.Body) -> str:
        return str(row['instance_uuid'])
