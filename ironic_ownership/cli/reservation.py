"""``reservation create|list|show|confirm|delete``."""

from __future__ import annotations

import argparse

from ironic_ownership.api.resources import reservation_schemas as columns
from ironic_ownership.cli import base, confirmation, errors, reservation_input


class CreateReservation(base.ShowOne):
    """Reserve a free node that fits, for an instance of a service.

    The same request again, for the same instance, shows the same
    reservation; an unfinished one is continued. If no free node
    fits, the exit code is 3, and the error has the number of nodes that each
    condition removed. If Ironic does not finish, it is 4.
    """

    notes = (
        'A request in a file is JSON or YAML, with the keys that "reservation '
        'show" has\nunder "request"; options count more than the file.'
    )
    examples = (
        (
            'reservation create --instance UUID --service rack1 '
            '--resource-class gold --yes'
        ),
        'reservation create --request request.json --dry-run',
        (
            'reservation create --instance UUID --service rack1 '
            '--extra-spec capabilities:gpu=">= 2" --yes -f json'
        ),
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        reservation_input.add_arguments(parser)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        wanted = reservation_input.read(parsed_args)
        body = wanted.to_mapping()
        if parsed_args.dry_run:
            choice = self.api.call(
                'reservation:create', body={**body, 'dry_run': True}
            )
            if not choice['candidates']:
                self.exit_code = errors.ExitCode.REFUSED
            return self.cells(columns.CHOICE, choice)
        what = (
            f'reserve a node for instance {wanted.instance_uuid} of '
            f'{wanted.service}'
        )
        confirmation.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(self.api.request_id, what)
        return self.cells(
            columns.DETAILED, self.api.call('reservation:create', body=body)
        )


class ListReservation(base.Lister):
    """List reservations, oldest first: the open ones, or all."""

    examples = (
        'reservation list',
        'reservation list --service rack1 --all -f json',
    )

    operation = 'reservation:list'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--limit',
            type=_positive,
            metavar='NUMBER',
            help='how many at most',
        )
        parser.add_argument(
            '--marker', metavar='ID', help='only those after this one'
        )
        return parser


class ShowReservation(base.ShowOne):
    """Show one reservation, with the request that it was made for."""

    examples = ('reservation show ID -f json',)
    operation = 'reservation:show'


class _Changing(ShowReservation):
    """A command that changes one reservation.

    :cvar verb: of its operation.
    """

    verb = ''

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        found = self.read(parsed_args)
        if not parsed_args.dry_run:
            what = f'{self.verb} reservation {found["id"]}'
            confirmation.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
            confirmation.announce(self.api.request_id, what)
            found = self.api.call(
                f'reservation:{self.verb}', path={'id': found['id']}
            )
        return self.cells(self.described.columns, found)


class ConfirmReservation(_Changing):
    """Confirm that a reservation is used, so that it does not expire.

    It is confirmed automatically when its node is deployed.
    """

    verb = 'confirm'
    examples = ('reservation confirm ID --yes',)


class DeleteReservation(_Changing):
    """Release a reserved node; repeated, it changes nothing.

    A deployed node is not released: the exit code is 3 then. If
    Ironic does not answer it is 4, and the next refresh of the service, or
    the same command later, continues.
    """

    verb = 'delete'
    examples = ('reservation delete ID --yes',)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number from 1')
    return int(text)
