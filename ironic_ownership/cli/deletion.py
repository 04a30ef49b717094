"""``compute node check-delete`` and ``compute node delete``."""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.api.errors import details_of
from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.gates import Outcome
from ironic_ownership.engine.operations.delete_nodes import Result
from ironic_ownership.observe import columns
from ironic_ownership.observe import deletion as shown

_GATES = """\
gates, every one of them evaluated for every node:
  node_is_gone    Ironic answers 404 for its uuid, asked without any filter
  no_instance     no instance is on record for it
  no_allocation   its provider in Placement has no allocation
  still_owner     the record still has the owner seen
  no_mass_loss    not too many nodes of its owner are missing together
  sees_all_nodes  the credential lists as many nodes as Ironic counts

A gate that cannot be evaluated has failed. They cannot be overridden."""

_Row = Mapping[str, Any]


class _Deletion(base.Lister):
    """A command about records whose nodes are gone."""

    notes = _GATES

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

    def call(self, name: str, nodes: Sequence[str], **more: Any) -> Any:
        """Call an operation on these nodes, given by uuid or name."""
        uuids = [found for text in nodes if (found := _uuid(text))]
        names = [text for text in nodes if not _uuid(text)]
        body = {'uuids': uuids, 'names': names}
        given = {key: value for key, value in body.items() if value}
        return self.api.call(name, body=given | more)

    def in_order(
        self,
        shown: Iterable[columns.Column[Any]],
        nodes: Sequence[str],
        rows: Iterable[_Row],
    ) -> base.Table:
        """Return the table of rows in the order of the given nodes."""
        places = {_uuid(text) or text: n for n, text in enumerate(nodes)}
        last = len(nodes)

        def place(row: _Row) -> int:
            return min(places.get(row[key], last) for key in ('uuid', 'name'))

        return self.rows(shown, sorted(rows, key=place))


class CheckDeleteComputeNode(_Deletion):
    """Evaluate every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one not.
    """

    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Evaluate the gates of the nodes."""
        answer = self.call('compute_node:bulk_check_delete', parsed_args.nodes)
        outcomes = [Outcome(gate[shown.OUTCOME]) for gate in answer['gates']]
        if not all(outcome.passed for outcome in outcomes):
            self.exit_code = errors.ExitCode.REFUSED
        return self.in_order(shown.GATES, parsed_args.nodes, answer['gates'])


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
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Delete the nodes whose gates are all passed."""
        nodes = parsed_args.nodes
        # A proposal lists all nodes of Ironic: only if it is shown.
        if parsed_args.dry_run or not parsed_args.yes:
            rows = self._rows(nodes, dry_run=True)
            passed = [r for r in rows if r['result'] == Result.WOULD_DELETE]
            if parsed_args.dry_run or not passed:
                return self._shown(nodes, rows)
            names = [row['name'] or row['uuid'] for row in passed]
            confirmation.confirm(parsed_args, f'Delete {_phrase(names)}')
        request_id = self.api.request_id
        confirmation.announce(request_id, f'delete {_phrase(nodes)}')
        return self._shown(nodes, self._execute(nodes))

    def _shown(self, nodes: Sequence[str], rows: Sequence[_Row]) -> base.Table:
        if any(row['result'] == Result.REFUSED for row in rows):
            self.exit_code = errors.ExitCode.REFUSED
        return self.in_order(shown.RESULTS, nodes, rows)

    def _execute(self, nodes: Sequence[str]) -> Sequence[_Row]:
        try:
            return self._rows(nodes, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code != 'gates_failed':
                raise
            refused: Sequence[_Row] = details_of(exc)['nodes']
            return refused

    def _rows(self, nodes: Sequence[str], *, dry_run: bool) -> Sequence[_Row]:
        answer = self.call('compute_node:bulk_delete', nodes, dry_run=dry_run)
        rows: Sequence[_Row] = answer['nodes']
        return rows


def _phrase(nodes: Sequence[str]) -> str:
    rest = f' and {len(nodes) - 1} more' if len(nodes) > 1 else ''
    return f'compute node {nodes[0]}{rest}'


def _uuid(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None
