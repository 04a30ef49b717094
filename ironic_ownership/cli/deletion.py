"""``compute node check-delete`` and ``compute node delete``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ironic_ownership.api.errors import details_of
from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.gates import Outcome
from ironic_ownership.engine.operations.delete_nodes import Result
from ironic_ownership.engine.operations.node_references import is_uuid
from ironic_ownership.observe import deletion as shown

if TYPE_CHECKING:
    from ironic_ownership.api.caller import Caller

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

_Row = Mapping[str, Any]


class _Deletion(base.Lister):
    """A command about records whose nodes are gone."""

    notes = _GATES

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'nodes',
            metavar='UUID|NAME',
            nargs='+',
            help='uuid of a node, or its name on record',
        )
        return parser

    def uuids(self, nodes: Sequence[str]) -> Sequence[str]:
        """Return the uuids of the nodes; see :func:`uuids_of`."""
        return uuids_of(self.api, nodes)


class CheckDeleteComputeNode(_Deletion):
    """Evaluate every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one not.
    """

    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        answer = self.api.call(
            'compute_node:bulk_check_delete',
            body={'uuids': self.uuids(parsed_args.nodes)},
        )
        outcomes = [Outcome(gate[shown.OUTCOME]) for gate in answer['gates']]
        if not all(outcome.passed for outcome in outcomes):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(shown.GATES, answer['gates'])


class DeleteComputeNode(_Deletion):
    """Delete the records, and the providers, of nodes that are gone.

    A service does that by itself for its own nodes. This command acts in its
    place, whether it is alive or not: behind the same gates, and only if the
    record still has the owner for which they were evaluated. A node that
    fails a gate keeps its record and its provider, and the others are
    deleted.
    """

    examples = (
        'compute node delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11 --dry-run',
        'compute node delete rack1-node7 rack1-node8 --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        uuids = self.uuids(parsed_args.nodes)
        # A proposal lists all nodes of Ironic: only if it is shown.
        if parsed_args.dry_run or not parsed_args.yes:
            rows = self._rows(uuids, dry_run=True)
            passed = [r for r in rows if r['result'] == Result.WOULD_DELETE]
            if parsed_args.dry_run or not passed:
                return self._shown(rows)
            names = [row['name'] or row['uuid'] for row in passed]
            confirmation.confirm(parsed_args, f'Delete {_phrase(names)}')
        change = f'delete {_phrase(parsed_args.nodes)}'
        confirmation.announce(self.api.request_id, change)
        return self._shown(self._execute(uuids))

    def _shown(self, rows: Sequence[_Row]) -> base.Table:
        if any(row['result'] == Result.REFUSED for row in rows):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(shown.RESULTS, rows)

    def _execute(self, uuids: Sequence[str]) -> Sequence[_Row]:
        try:
            return self._rows(uuids, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code != 'gates_failed':
                raise
            refused: Sequence[_Row] = details_of(exc)['nodes']
            return refused

    def _rows(self, uuids: Sequence[str], *, dry_run: bool) -> Sequence[_Row]:
        answer = self.api.call(
            'compute_node:bulk_delete',
            body={'uuids': uuids, 'dry_run': dry_run},
        )
        rows: Sequence[_Row] = answer['nodes']
        return rows


def uuids_of(api: Caller, names: Sequence[str]) -> Sequence[str]:
    """Return the uuids of things; the records are read for names only.

    :param names: uuids, and names of nodes.
    :raises NotFoundError: listing all that are unknown.
    """
    texts = [_canonical(text) for text in names]
    if all(map(is_uuid, texts)):
        return texts
    answer = api.call('compute_node:resolve', body={'nodes': texts})
    faults = [node['fault'] for node in answer['nodes'] if node['fault']]
    if faults:
        raise exceptions.NotFoundError('; '.join(faults))
    return [node['uuid'] for node in answer['nodes']]


def _canonical(text: str) -> str:
    """Return a uuid of any form in that of Ironic, and a name as it is."""
    try:
        return str(UUID(text))
    except ValueError:
        return text


def _phrase(nodes: Sequence[str]) -> str:
    rest = f' and {len(nodes) - 1} more' if len(nodes) > 1 else ''
    return f'compute node {nodes[0]}{rest}'
