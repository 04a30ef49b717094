"""Commands that change something: propose, confirm, execute.

A proposal is a dry run of the same operation. Each execution has a request
id by which its traces are found in logs, Ironic and Placement.
"""

from __future__ import annotations

import abc
import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api.operation_client import actor
from ironic_ownership.cli import arguments, base, errors
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.calls import pending

LOG = logging.getLogger(__name__)

Body = Mapping[str, Any]

_YES = ('y', 'yes')
_REFUSED = frozenset(('gates_failed', 'provider_in_use', 'service_in_use'))


class ChangeCommand(base.Shown[Any]):
    """A command that makes a change by an operation.

    :cvar always_proposes: whether --yes makes a proposal, too.
    """

    always_proposes: ClassVar[bool] = True

    @abc.abstractmethod
    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        """Return the change in the imperative; empty if there is none.

        :param proposal: empty if none was made.
        """

    def refusals(self, proposal: Body) -> Sequence[str]:
        """Return one line for each refusal by gates."""
        return ()

    def refused(
        self, proposal: Body, error: exceptions.OwnershipError
    ) -> Body:
        """Return the body to show if gates failed after the proposal."""
        LOG.error('%s: %s', self.api.request_id, errors.line(error))
        return proposal

    def read(self, parsed_args: argparse.Namespace) -> Body:
        """Propose, confirm and execute, as far as options and gates allow.

        :returns: the body to show: of the proposal or of the execution.
        """
        dry_run, proposal = parsed_args.dry_run, {}
        # A proposal may read a lot.
        proposes = self.always_proposes or dry_run or not parsed_args.yes
        if proposes:
            trial = self.call(parsed_args, dry_run=True)
            proposal = {**trial, 'dry_run': dry_run}
            self.warn(proposal)
            if refusals := self.refusals(proposal):
                self.exit_code = errors.ExitCode.REFUSED
                for text in refusals:
                    LOG.error('%s', text)
                return proposal
        change = self.describe(proposal, parsed_args)
        if proposes:
            if dry_run or not change:
                return proposal
            confirm(parsed_args, f'{change[0].upper()}{change[1:]}')
        announce(self.api.request_id, change)
        try:
            done: Body = self.call(parsed_args, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code not in _REFUSED:
                raise
            self.exit_code = errors.ExitCode.REFUSED
            return self.refused(proposal, exc)
        known = proposal.get('warnings', ())
        new = [t for t in done.get('warnings', ()) if t not in known]
        self.warn({**done, 'warnings': new})
        return done


class ChangeOne(ChangeCommand, base.ShowOne):
    """A change of one thing, which is shown as it is afterwards."""

    more: ClassVar[Sequence[str]] = ('dry_run', 'request_id')


class ItemsCommand(ChangeCommand, base.Lister):
    """A change of several things, each of which gates may refuse.

    What a gate refuses stays as it is, and the rest is changed.

    :cvar verb: the change, in the imperative.
    :cvar thing: what is changed; its name follows.
    :cvar given: the help of the arguments that name the things.
    """

    always_proposes = False
    verb: ClassVar[str]
    thing: ClassVar[str] = arguments.NODE
    given: ClassVar[str] = 'uuid of a node, or its name on record'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_names(parser, self.given)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        parsed_args.uuids = arguments.uuids_of(
            self.api, parsed_args.names, self.thing
        )
        rows = base.items_of(self.read(parsed_args))
        if any(row['result'] == 'refused' for row in rows):
            self.exit_code = errors.ExitCode.REFUSED
        return self.rows(self.described.columns, rows)

    def words(self, cell: Any) -> Any:
        return one_each(super().words(cell))

    def name(self, row: Body) -> str:
        """Return how a question names a thing."""
        return str(row['name'] or row['uuid'])

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        names = parsed_args.names
        if proposal:
            names = [
                self.name(row)
                for row in base.items_of(proposal)
                if row['result'] == f'would_{self.verb}'
            ]
        if not names:
            return ''
        rest = f' and {len(names) - 1} more' if len(names) > 1 else ''
        return f'{self.verb} {self.thing} {names[0]}{rest}'

    def refused(
        self, proposal: Body, error: exceptions.OwnershipError
    ) -> Body:
        return {'nodes': error.details['nodes']}


def one_each(cell: Any) -> Any:
    """Return a cell with each sentence of several gates once, on a line."""
    if not isinstance(cell, str):
        return cell
    return '\n'.join(dict.fromkeys(cell.split('; ')))


def add_names(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the arguments that name things."""
    parser.add_argument('names', metavar='UUID|NAME', nargs='+', help=text)


def confirm(args: argparse.Namespace, question: str) -> None:
    """Ask the operator, unless ``--yes`` is given.

    :param question: the change, without a question mark.
    :raises UsageError: if there is no terminal.
    :raises OwnershipError: if the answer is no.
    """
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise errors.UsageError(
            'standard input is not a terminal, so the command cannot ask: '
            'nothing was changed',
            hint='Add --yes, or --dry-run to see what would be done',
        )
    sys.stderr.write(f'{texts.printable(question)}? [y/N] ')
    sys.stderr.flush()
    with pending.to('the person who was asked'):
        answer = sys.stdin.readline()
    if answer.strip().lower() not in _YES:
        raise exceptions.OwnershipError('not confirmed: nothing was changed')


def announce(request_id: str, change: str) -> None:
    """Log the change, its actor and its request id."""
    LOG.info('%s: %s, asked for by %s', request_id, change, actor())
