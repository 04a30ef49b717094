"""Changes of several things at once, each of which gates may refuse."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.suggestions import is_uuid

if TYPE_CHECKING:
    from ironic_ownership.api.caller import Caller

Row = Mapping[str, Any]

_REFUSED = 'refused'


class GatedChange(base.Lister):
    """Proposes the change of several things, asks, and carries it out.

    What a gate refuses stays as it is, and the rest is changed.

    :cvar verb: the change, in the imperative.
    :cvar thing: what is changed; its name follows.
    :cvar given: the help of the arguments that name the things.
    """

    verb: ClassVar[str]
    thing: ClassVar[str] = 'compute node'

    given: ClassVar[str] = 'uuid of a node, or its name on record'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        add_names(parser, self.given)
        return parser

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        """Return what the request has besides the uuids."""
        return {}

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        return self._change(parsed_args, parsed_args.names)

    def _send(
        self,
        parsed_args: argparse.Namespace,
        uuids: Sequence[str],
        *,
        dry_run: bool,
    ) -> Sequence[Row]:
        """Call the operation, and return its rows."""
        body = {**self.body(parsed_args), 'dry_run': dry_run, 'uuids': uuids}
        answer = self.api.call(self.operation, body=body)
        rows: Sequence[Row] = answer[next(iter(answer))]
        return rows

    def name(self, row: Row) -> str:
        """Return how a question names a thing."""
        return str(row['name'] or row['uuid'])

    def _change(
        self, parsed_args: argparse.Namespace, names: Sequence[str]
    ) -> base.Table:
        """Change things, as far as options, gates and the operator allow.

        :param names: uuids, and names of nodes.
        """
        uuids = uuids_of(self.api, names)
        # A proposal may read a lot: only if it is shown.
        if parsed_args.dry_run or not parsed_args.yes:
            rows = self._send(parsed_args, uuids, dry_run=True)
            would = [r for r in rows if r['result'] == f'would_{self.verb}']
            if parsed_args.dry_run or not would:
                return self._result(rows)
            question = self._phrase([self.name(row) for row in would])
            confirmation.confirm(
                parsed_args, f'{question[0].upper()}{question[1:]}'
            )
        confirmation.announce(self.api.request_id, self._phrase(names))
        return self._result(self._execute(parsed_args, uuids))

    def _execute(
        self, parsed_args: argparse.Namespace, uuids: Sequence[str]
    ) -> Sequence[Row]:
        try:
            return self._send(parsed_args, uuids, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code != 'gates_failed':
                raise
            refused: Sequence[Row] = exc.details['nodes']
            return refused

    def _result(self, rows: Sequence[Row]) -> base.Table:
        if any(row['result'] == _REFUSED for row in rows):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(self.described.columns, rows)

    def _phrase(self, names: Sequence[str]) -> str:
        rest = f' and {len(names) - 1} more' if len(names) > 1 else ''
        return f'{self.verb} {self.thing} {names[0]}{rest}'


def add_names(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the arguments that name things."""
    parser.add_argument('names', metavar='UUID|NAME', nargs='+', help=text)


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
