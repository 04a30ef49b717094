"""``reservation create|list|show|confirm|delete``."""

from __future__ import annotations

import argparse
from typing import Any, ClassVar

from ironic_ownership.api.resources import reservations
from ironic_ownership.cli import arguments, base, change, errors, input_file
from ironic_ownership.cli.change import Body
from ironic_ownership.contracts.reservations import Request

_TEXTS = (
    ('instance', 'instance_uuid', 'UUID', 'the instance that it is for'),
    ('service', 'service', 'HOST', 'the service that is to own the node'),
    ('resource-class', 'resource_class', 'CLASS', 'exactly as in Ironic'),
    ('memory-mb', 'memory_mb', 'MB', 'at least this much memory'),
    ('vcpus', 'vcpus', 'NUMBER', 'at least this many processors'),
    ('root-gb', 'root_gb', 'GB', 'size of the root disk'),
    ('ephemeral-gb', 'ephemeral_gb', 'GB', 'size of further disks'),
    ('swap', 'swap', 'MB', 'size of the swap space'),
    ('node', 'node', 'UUID|NAME', 'this node, or none'),
)
_LISTS = (
    ('trait', 'traits', 'TRAIT', 'the node has to have it'),
    ('forbidden-trait', 'forbidden_traits', 'TRAIT', 'it must not have it'),
)
_PAIRS = (
    ('extra-spec', 'extra_specs', 'KEY=VALUE', 'an extra spec of the flavor'),
    (
        *('image-property', 'image_properties'),
        *('KEY=VALUE', 'a property of the image'),
    ),
)


class CreateReservation(base.ShowOne):
    """Reserve a free node that fits, for an instance of a service.

    The same request again, for the same instance, shows the same
    reservation; an unfinished one is continued. If no free node
    fits, the exit code is 3, and the error has the number of nodes that each
    condition removed. If Ironic does not finish, it is 4.
    """

    notes = (
        'A request in a file is JSON or YAML, with the keys that "reservation '
        'show" has\nunder "request"; options take precedence over the file.'
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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            '--request',
            metavar='FILE',
            help='read the request from this file; - is standard input',
        )
        for option, key, metavar, text in _TEXTS:
            add(f'--{option}', dest=key, metavar=metavar, help=text)
        for table, read in ((_LISTS, str), (_PAIRS, _pair)):
            for option, key, metavar, text in table:
                add(
                    f'--{option}',
                    dest=key,
                    metavar=metavar,
                    action='append',
                    type=read,
                    help=f'{text}; may be repeated',
                )
        arguments.add_confirmation(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        # Imported late: only commands with a body pay for its library.
        from ironic_ownership.api import validation

        body = _body(parsed_args)
        _check_required(body)
        if faults := validation.faults(body, reservations.BODY, 'request'):
            raise errors.UsageError('; '.join(dict.fromkeys(faults)))
        wanted = Request.from_mapping(body)
        proposes = body.get('dry_run')
        if not proposes:
            what = (
                f'reserve a node for instance {wanted.instance_uuid} of '
                f'{wanted.service}'
            )
            change.confirm(parsed_args, f'{what[0].upper()}{what[1:]}')
            change.announce(self.api.request_id, what)
        found = self.api.call('reservation:create', body=body)
        if not proposes:
            return self.cells(reservations.DETAILED, found)
        if not found['candidates']:
            self.exit_code = errors.ExitCode.REFUSED
        return self.cells(reservations.CHOICE, found)


class ListReservation(base.Lister):
    """List reservations, oldest first: the open ones, or all."""

    examples = (
        'reservation list',
        'reservation list --service rack1 --all -f json',
    )

    nothing = 'No reservations'
    operation = 'reservation:list'

    options: ClassVar = {
        'limit': {
            'type': arguments.positive,
            'metavar': 'N',
            'help': 'the maximum number of reservations',
        },
        'marker': {'metavar': 'ID', 'help': 'only those after this one'},
    }


class ShowReservation(base.ShowOne):
    """Show one reservation, with the request that it was made for."""

    examples = ('reservation show ID -f json',)
    operation = 'reservation:show'


class _Changing(change.ChangeOne):
    """A command that changes one reservation, whose proposal is what it is."""

    more = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_confirmation(parser)

    def call(self, parsed_args: argparse.Namespace, **more: bool) -> Any:
        proposes = more['dry_run']
        name = ShowReservation.operation if proposes else self.operation
        found = self.api.call(name, path={'id': parsed_args.id})
        # What is shown is what is changed: an instance that was given may
        # have another reservation by then.
        parsed_args.id = found['id']
        return found

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        verb = self.operation.partition(':')[2]
        return f'{verb} reservation {proposal["id"]}'


class ConfirmReservation(_Changing):
    """Confirm that a reservation is used, so that it does not expire.

    It is confirmed automatically when its node is deployed.
    """

    operation = 'reservation:confirm'
    examples = ('reservation confirm ID --yes',)


class DeleteReservation(_Changing):
    """Release a reserved node; repeated, it changes nothing.

    A deployed node is not released: the exit code is 3 then. If
    Ironic does not answer it is 4, and the next refresh of the service, or
    the same command later, continues.
    """

    operation = 'reservation:delete'
    examples = ('reservation delete ID --yes',)


def _body(args: argparse.Namespace) -> Any:
    """Return the request that file and options make up, valid or not.

    :raises UsageError: if the file cannot be read.
    """
    body = input_file.read(args.request) if args.request else {}
    if not isinstance(body, dict):
        return body
    given = vars(args)
    for _, key, _, _ in (*_TEXTS, *_LISTS):
        if given[key] is not None:
            body[key] = given[key]
    for key, text in body.items():
        if isinstance(text, str):
            body[key] = text.strip()
    if args.extra_specs:
        _add(body, 'extra_specs', args.extra_specs)
    if args.image_properties:
        _add(body, 'image', {})
        if isinstance(body['image'], dict):
            _add(body['image'], 'properties', args.image_properties)
    if args.dry_run:
        body['dry_run'] = True
    return body


def _check_required(body: Any) -> None:
    required = (('--instance', 'instance_uuid'), ('--service', 'service'))
    missing = [
        option
        for option, key in required
        if isinstance(body, dict) and key not in body
    ]
    if missing:
        raise errors.UsageError(
            f'the request lacks {" and ".join(missing)}',
            hint='Add what is missing, as an option or in the --request file',
        )


def _add(data: dict[str, Any], key: str, more: Any) -> None:
    before = data.get(key)
    # What is no object is for the schema to refuse.
    if before is None or isinstance(before, dict):
        data[key] = {**(before or {}), **dict(more)}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition('=')
    if not equals or not name:
        raise argparse.ArgumentTypeError(f'{text!r} is not KEY=VALUE')
    return name, value
