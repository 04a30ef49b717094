"""``check``, and ``node validate`` for nodes before they are enrolled."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from typing import Any

from ironic_ownership.cli import base, errors, formatters, input_file
from ironic_ownership.contracts import texts
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.checks.problem import Kind, Severity

LOG = logging.getLogger(__name__)

_FEW = 3
"""Number of subjects that are named unless all are requested."""


_HELD = """\
The file is what "openstack baremetal create" takes, as JSON or YAML: "nodes",
and "chassis" that have nodes; or a list of nodes alone.

faults for which a node is refused:
  driver_missing, driver_unknown, conductor_group_unknown, driver_not_in_group
      no live conductor of the node's conductor group has its driver
  uuid_invalid, uuid_duplicate, name_invalid, name_duplicate
      in the file, or because of a node that Ironic has already
  not_a_node, field_invalid
      not a mapping, or a field of it has another type than in Ironic
  resource_class_missing
      nothing would ever be scheduled to the node
and the one that is only a warning:
  not_admitted
      no live, enabled service admits a node of that shard and group

The exit code is 0 if no node is refused, else 3. Nothing is changed."""


class Check(base.Lister):
    """Check that every node is owned by one service, and list all problems.

    Reads Ironic, the records and the members, and changes nothing.
    """

    notes = """\
The exit code is 0 without problems or with notes only, and 4 with any other,
which includes an outage of Ironic, the records or the membership. A table then
shows the number of skipped checks; --long and other formats name them. With a
shard key in the configuration nodes are listed shard by shard, and nodes
without a shard are counted and not checked."""
    examples = ('check', 'check --long', 'check -f json')
    nothing = 'No problems found'

    watches = True
    operation = 'check:show'
    long = f'name all subjects of a problem, not only {_FEW}'

    def words(self, cell: Any) -> Any:
        """Return a cell as text for people, in narrow columns."""
        if isinstance(cell, list) and cell:
            return '\n'.join(cell)
        text = super().words(cell)
        return formatters.filled(text, 48) if isinstance(text, str) else text

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        found = self.read(parsed_args)['problems']
        if any(one['severity'] != Severity.NOTE for one in found):
            self.exit_code = errors.ExitCode.DEGRADED
        if not parsed_args.long:
            found = [_shortened(one) for one in found]
            if parsed_args.formatter == 'table':
                found = [_without_list(one) for one in found]
        return self.rows(self.described.columns, found)


def _shortened(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem with its first subjects; ``count`` has them all."""
    return {
        **problem,
        'subjects': problem['subjects'][:_FEW],
        'services': problem['services'][:_FEW],
    }


def _without_list(problem: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a problem whose hint counts the skipped checks only."""
    counted, skipped, _ = problem['hint'].partition(' skipped: ')
    if problem['kind'] != Kind.PART or not skipped:
        return problem
    return {**problem, 'hint': f'{counted} skipped (--long lists them)'}


class ValidateNode(base.Lister):
    """Check nodes in a file before they are enrolled in Ironic."""

    operation, notes = 'node:validate', _HELD
    examples = (
        'node validate new-rack.yaml',
        'node validate new-rack.json -f json',
        'node validate - < new-rack.yaml',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'file', metavar='FILE', help='file with nodes; - is standard input'
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        name = input_file.label(parsed_args.file)
        document = input_file.read(parsed_args.file)
        if not node_validation.entries_of(document):
            raise errors.UsageError(
                f'{name} has no nodes',
                hint='It has to hold a list of nodes, or a mapping with '
                '"nodes" as for "openstack baremetal create"',
            )
        body = self.api.call(self.operation, body=document)
        self.warn(body)
        if body['refused']:
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error('%s of %s nodes refused', body['refused'], body['nodes'])
        self.nothing = (
            f'{texts.counted(body["nodes"], "node")}, no faults found'
        )
        return self.rows(self.described.columns, body['faults'])
