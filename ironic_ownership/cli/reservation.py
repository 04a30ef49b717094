"""``reservation create|list|show|confirm|delete``."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.cli import base, confirmation, errors, reservation_input
from ironic_ownership.contracts import model, reservations
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import columns
from ironic_ownership.observe import reservation as shown

if TYPE_CHECKING:
    from ironic_ownership.engine.reservations.reserver import Reserver

LOG = logging.getLogger(__name__)

One = tuple[Sequence[str], Sequence[Any]]


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'reservation',
        metavar='ID|INSTANCE',
        help='id of a reservation, or the uuid of the instance of an open one',
    )


def _details(one: reservations.Reservation) -> One:
    return columns.keys(shown.DETAILS), columns.row(shown.DETAILS, one)


class _Reserving(base.ShowOne):
    """A command about one reservation."""

    @functools.cached_property
    def request_id(self) -> str:
        """The id that Ironic writes into its log."""
        return new_id()

    @functools.cached_property
    def reserver(self) -> Reserver:
        """What makes, confirms and deletes reservations."""
        return self.wiring.reserver(self.request_id)


class CreateReservation(_Reserving):
    """Reserve a free node that fits, for an instance of a service.

    The same request again, for the same instance, shows the same
    reservation; one that was left unfinished is gone on with. If no free node
    fits, the exit code is 3, and the number of nodes that each condition
    removed is said. If Ironic does not come to an end, it is 4.
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
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        reservation_input.add_arguments(parser)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> One:
        """Reserve a node, or show which could be."""
        wanted = reservation_input.read(parsed_args)
        if parsed_args.dry_run:
            choice = self.reserver.preview(wanted)
            if not choice.candidates:
                self.exit_code = errors.ExitCode.REFUSED
            return (
                columns.keys(shown.CHOICE),
                columns.row(shown.CHOICE, choice),
            )
        what = (
            f'reserve a node for instance {wanted.instance_uuid} of '
            f'{wanted.service}'
        )
        confirmation.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(self.request_id, what)
        return _details(
            self.reserver.create(wanted, actor=confirmation.actor())
        )


class ListReservation(base.Lister):
    """List reservations, oldest first: the open ones, or all."""

    examples = (
        'reservation list',
        'reservation list --service rack1 --all -f json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--service',
            metavar='HOST',
            help='only those of this service; case does not count',
        )
        parser.add_argument(
            '--all',
            action='store_true',
            help='those that are closed, too',
        )
        parser.add_argument(
            '--limit',
            type=_positive,
            metavar='NUMBER',
            help='at most so many',
        )
        parser.add_argument(
            '--marker',
            metavar='ID',
            help='only those after this one',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """List what the options name."""
        states = reservations.OPEN
        if parsed_args.all:
            states = frozenset(reservations.ReservationState)
        host = parsed_args.service
        listed = self.wiring.ready_reservations().reservations(
            host=None if host is None else model.canonical_host(host),
            states=states,
            limit=parsed_args.limit,
            marker=parsed_args.marker,
        )
        return self.table(shown.RESERVATION, listed)


class ShowReservation(_Reserving):
    """Show one reservation, with the request that it was made for."""

    examples = ('reservation show ID -f json',)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        _add_key(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> One:
        """Show it."""
        return _details(self.reserver.find(parsed_args.reservation))


class _Changing(_Reserving):
    """A command that changes one reservation."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        _add_key(parser)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> One:
        """Change it, or show it as it is."""
        found = self.reserver.find(parsed_args.reservation)
        if parsed_args.dry_run:
            return _details(found)
        what = f'{self.verb} reservation {found.id}'
        confirmation.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(self.request_id, what)
        return _details(self.change(found.id))

    verb = ''

    def change(self, reservation_id: str) -> reservations.Reservation:
        """Do it."""
        raise NotImplementedError


class ConfirmReservation(_Changing):
    """Say that a reservation is used, so that it does not expire.

    One whose node is deployed is confirmed by itself.
    """

    verb = 'confirm'
    examples = ('reservation confirm ID --yes',)

    def change(self, reservation_id: str) -> reservations.Reservation:
        """Confirm it."""
        return self.reserver.confirm(reservation_id)


class DeleteReservation(_Changing):
    """Give a reserved node back; done before, it changes nothing.

    A node that is deployed is not given back: the exit code is 3 then. If
    Ironic does not answer it is 4, and the next refresh of the service, or
    the same command later, goes on with it.
    """

    verb = 'delete'
    examples = ('reservation delete ID --yes',)

    def change(self, reservation_id: str) -> reservations.Reservation:
        """Delete it."""
        return self.reserver.delete(reservation_id, actor=confirmation.actor())


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is no number from 1 on')
    return int(text)
