"""The base of commands that write: propose, confirm, execute.

A proposal is a dry run of the same operation. Each execution has a request
id by which its traces are found in logs, Ironic and Placement.
"""

from __future__ import annotations

import abc
import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.cli import base, connection, errors
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.calls import pending

LOG = logging.getLogger(__name__)

Body = Mapping[str, Any]

_YES = ('y', 'yes')
_REFUSED = frozenset(('gates_failed', 'provider_in_use', 'service_in_use'))


class WritingCommand(base.Shown[Any]):
    """A command that changes one thing by an operation."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_arguments(parser)
        return parser

    def body(self, parsed_args: argparse.Namespace) -> Body:
        """Return the body of the request, if it has one."""
        return {}

    def call(self, parsed_args: argparse.Namespace, *, dry_run: bool) -> Any:
        """Call the operation, and return the body of its answer."""
        one = self.described
        path = {p.name: getattr(parsed_args, p.name) for p in one.parameters}
        trial = {'dry_run': dry_run}
        if one.body is None:
            return self.api.call(one.name, path=path, query=trial)
        body = {**self.body(parsed_args), **trial}
        return self.api.call(one.name, path=path, body=body)

    @abc.abstractmethod
    def describe(self, proposal: Body) -> str:
        """Return the change in the imperative; empty if there is none."""

    def refusals(self, proposal: Body) -> Sequence[str]:
        """Return one line for each refusal by gates."""
        return ()

    def operate(self, parsed_args: argparse.Namespace) -> Body:
        """Propose, confirm and execute, as far as options and gates allow.

        :returns: the body to show: of the proposal or of the execution.
        """
        dry_run = parsed_args.dry_run
        proposal = {**self.call(parsed_args, dry_run=True), 'dry_run': dry_run}
        self.warn(proposal)
        if refusals := self.refusals(proposal):
            self.exit_code = errors.ExitCode.REFUSED
            for text in refusals:
                LOG.error('%s', text)
            return proposal
        change = self.describe(proposal)
        if dry_run or not change:
            return proposal
        confirm(parsed_args, f'{change[0].upper()}{change[1:]}')
        announce(self.api.request_id, change)
        try:
            done: Body = self.call(parsed_args, dry_run=False)
        except exceptions.OwnershipError as exc:
            if exc.code not in _REFUSED:
                raise
            # A gate failed after the proposal.
            self.exit_code = errors.ExitCode.REFUSED
            LOG.error('%s: %s', self.api.request_id, errors.line(exc))
            return proposal
        self.warn(done)
        return done


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--dry-run`` and ``--yes``."""
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='show what would be done and whether it would be refused, and '
        'change nothing',
    )
    parser.add_argument(
        *('-y', '--yes'),
        action='store_true',
        help='do not ask; needed where there is no terminal',
    )


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
            'standard input is no terminal, so there is no one to ask: '
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
    LOG.info('%s: %s, asked for by %s', request_id, change, connection.actor())
