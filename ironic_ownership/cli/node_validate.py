"""``node validate``: judge nodes in a file before they are enrolled."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ironic_ownership import wiring
from ironic_ownership.cli import base, errors, node_file
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import deployment_snapshot
from ironic_ownership.observe import node_validation as shown

LOG = logging.getLogger(__name__)

_HELD = """\
The file is what "openstack baremetal create" takes, as JSON or YAML: "nodes",
and "chassis" that have nodes; or a list of nodes alone.

faults for which a node is refused:
  driver_missing, driver_unknown, conductor_group_unknown, driver_not_in_group
      no live conductor of the node's conductor group has its driver
  uuid_invalid, uuid_duplicate, name_invalid, name_duplicate
      in the file, or because of a node that Ironic has already
  resource_class_missing
      nothing would ever be scheduled to the node
and the one that is only a warning:
  not_admitted
      no live, enabled service admits a node of that shard and group

The exit code is 0 if no node is refused, else 3. Nothing is changed."""


class ValidateNode(base.Lister):
    """Judge nodes in a file before they are enrolled in Ironic."""

    notes = _HELD
    examples = (
        'node validate new-rack.yaml',
        'node validate new-rack.json -f json',
        'node validate - < new-rack.yaml',
    )
    _judged = 0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file', metavar='FILE', help='file with nodes; - for stdin'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Judge the nodes of the file."""
        entries = node_validation.entries_of(node_file.read(parsed_args.file))
        if not entries:
            raise errors.UsageError(
                f'{parsed_args.file} has no nodes',
                hint='It has to hold a list of nodes, or a mapping with '
                '"nodes" as for "openstack baremetal create"',
            )
        found = node_validation.validate(entries, self._surroundings())
        refused = {
            f.place
            for f in found
            if f.severity is node_validation.Severity.REFUSED
        }
        if refused:
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error('%s of %s nodes refused', len(refused), len(entries))
        self._judged = len(entries)
        return self.table(shown.COLUMNS, found)

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        """Show the faults; tell a person that there are none."""
        rows = list(data)
        if not rows and parsed_args.formatter == 'table':
            self.app.stdout.write(f'{self._judged} nodes, no faults found\n')
            return 0
        return super().produce_output(parsed_args, column_names, rows)

    def _surroundings(self) -> node_validation.Surroundings:
        """Read what the nodes would come into.

        :raises OwnershipError: if Ironic does not show its nodes or its
            conductors; without the services it can be judged, too.
        """
        seen = deployment_snapshot.read(self.sources, sharded=self.sharded)
        nodes = seen.nodes
        if nodes is None:
            raise seen.unread[deployment_snapshot.Part.IRONIC]
        if nodes.fleet is None:
            raise nodes.unshown or exceptions.IronicError('no conductors')
        if nodes.unlisted:
            LOG.warning(
                'not compared with %s nodes without a shard, which may not '
                'be listed with a shard key set',
                nodes.unlisted,
            )
        return node_validation.Surroundings(
            nodes.fleet,
            {node.uuid for node in nodes.listed},
            {node.name for node in nodes.listed if node.name},
            _admits(seen),
        )


def _admits(
    seen: deployment_snapshot.DeploymentSnapshot,
) -> Callable[[model.Node], bool] | None:
    if seen.view is None or seen.services is None:
        for error in seen.unread.values():
            LOG.warning('not judged who admits the nodes: %s', error)
        return None
    groups = PeerGroups.of(seen.view, seen.services, wiring.interpret).groups

    def admits(node: model.Node) -> bool:
        return any(group.policies.admits(node) for group in groups)

    return admits
