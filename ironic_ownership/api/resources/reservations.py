"""``/v1/reservations``: nodes reserved for instances."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.schemas import TEXT_OR_NULL, Column, Columns, cells
from ironic_ownership.contracts import (
    exceptions,
    flavor_specs,
    model,
    reservations,
)
from ironic_ownership.contracts.reservations import (
    OPEN,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.reservations.reserver import unknown
from ironic_ownership.engine.reservations.selection import Choice

MAX_AMOUNT = 2**31 - 1
"""No node has more of anything, and no database column holds more."""

_UUID = {
    'type': 'string',
    'pattern': '^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$',
}
_TRAITS = {
    'type': ['array', 'null'],
    'items': {
        'type': 'string',
        'description': 'Capital letters, digits and underscores.',
        'pattern': f'^{flavor_specs.TRAIT}$',
    },
    'maxItems': 1000,
}
_VALUES = {
    'type': ['object', 'null'],
    'maxProperties': 1000,
    'propertyNames': schemas.WORDS,
    'additionalProperties': {
        'type': ['string', 'number', 'boolean'],
        'maxLength': 255,
        'pattern': r'^[^\x00-\x1f\x7f]*$',
    },
}
_IGNORED = {
    'type': ['number', 'null'],
    'description': 'Accepted as part of a flavor, and ignored.',
}


_WORDS = {**schemas.WORDS, 'type': ['string', 'null']}


def _amount(meaning: str) -> dict[str, Any]:
    return {
        'description': f'A whole number from 0 to {MAX_AMOUNT}, {meaning}. '
        'An empty text, as in Nova for no swap, is 0.',
        'anyOf': [
            {'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT},
            {'type': 'string', 'pattern': '^[0-9]{0,9}$'},
            {'type': 'null'},
        ],
    }


BODY = schemas.body(
    {
        'instance_uuid': schemas.described(_UUID, 'Uuid of the instance.'),
        'service': schemas.described(
            schemas.HOST, 'The service that will own the node.'
        ),
        'resource_class': schemas.described(_WORDS, 'Exactly as in Ironic.'),
        'traits': schemas.described(_TRAITS, 'Required traits.'),
        'forbidden_traits': schemas.described(
            _TRAITS, 'Traits that the node must not have.'
        ),
        'memory_mb': _amount('in MB'),
        'vcpus': _amount('of processors'),
        'root_gb': _amount('in GB'),
        'ephemeral_gb': _amount('in GB, in addition'),
        'swap': _amount('in MB, in addition'),
        'vcpu_weight': _IGNORED,
        'rxtx_factor': _IGNORED,
        'extra_specs': schemas.described(
            _VALUES,
            'Of the flavor: trait:NAME, resources:CLASS, '
            'capabilities:NAME with operators such as ">= 2".',
        ),
        'image': {
            'type': ['object', 'null'],
            'description': 'The image to deploy.',
            'additionalProperties': False,
            'properties': {
                'id': schemas.described(_WORDS, 'Stored, and ignored.'),
                'properties': _VALUES,
            },
        },
        'node': schemas.described(
            _WORDS, 'Uuid or name of the only acceptable node.'
        ),
        'dry_run': schemas.described(
            schemas.FLAG, 'Only return the nodes that fit.'
        ),
    },
    ['instance_uuid', 'service'],
)

RESERVATION: Columns[Reservation] = (
    Column('id'),
    Column('instance_uuid'),
    Column('service', 'host'),
    Column('node_uuid', type=TEXT_OR_NULL),
    schemas.code('state', ReservationState),
    Column('confirmed', type=schemas.FLAG),
    schemas.moment('created_at'),
    schemas.moment(
        'expires_at', text='When it expires unless confirmed; null for never.'
    ),
)
DETAILED: Columns[Reservation] = (
    *RESERVATION,
    schemas.moment('updated_at'),
    Column('method'),
    Column('detail', type=TEXT_OR_NULL),
    schemas.nullable(
        'creator', 'Actor of the request; null if not on record.'
    ),
    Column('request', lambda r: r.request.to_mapping(), schemas.THING),
)
CHOICE: Columns[Choice] = (
    Column('fitting', type=schemas.NUMBER),
    Column(
        'candidates',
        lambda c: [node.uuid for node in c.candidates],
        schemas.TEXTS,
    ),
    Column('examined', type=schemas.NUMBER),
    Column(
        'removed',
        lambda c: dict(c.removed),
        schemas.THING,
        'Number of nodes that each condition removed.',
    ),
)
"""Result of a dry run of a request."""

_ANSWERS = schemas.answer('The reservation.', DETAILED)


@Operation(
    'reservation:list',
    'GET /v1/reservations',
    schemas.pages('A page of reservations.', 'reservations', RESERVATION),
    allowed_to=Access.READ_RESERVATIONS,
    query=(
        schemas.host(
            'service', 'Only those of this service (case-insensitive).'
        ),
        schemas.Parameter('all', 'Also those that are closed.', schemas.FLAG),
        *schemas.PAGE,
    ),
    errors=(404, 503),
)
def _list(request: Request) -> Answer:
    """List reservations, oldest first: the open ones, or all."""
    named = request.query.get('service')
    host = named and model.canonical_host(named)
    read = request.context.reservations.reservations
    every = frozenset(ReservationState)
    found = read(
        host=host,
        creator=request.actor if request.own_only else None,
        states=every if request.query.get('all') else OPEN,
        limit=request.limit + 1,
        marker=request.query.get('marker'),
    )
    # One that is gone may have left reservations that are closed.
    if named and not (found or read(host=host, states=every, limit=1)):
        suggestions.service_named(request.context.records, named)
    return request.part(found, lambda one: one.id)


@Operation(
    'reservation:create',
    'POST /v1/reservations',
    {
        200: (
            'It existed already; or the result of dry_run.',
            {'oneOf': [schemas.thing(DETAILED), schemas.thing(CHOICE)]},
        ),
        201: ('The reservation, active.', schemas.thing(DETAILED)),
    },
    allowed_to=Access.SERVICE,
    body=BODY,
)
def _create(request: Request) -> Answer:
    """Reserve a free node that fits, for an instance of a service.

    The node is reserved through Ironic, so that no two services get the same
    one, and owned by the service until the reservation is deleted. Idempotent:
    the same request returns the same reservation, and continues an unfinished
    one. 409: no_match has the number of nodes that each condition removed;
    with reservation_conflict the instance has another reservation; with
    service_refused the service is not eligible. 503 with
    reservation_unfinished: repeat the request.
    """
    body: dict[str, Any] = request.body
    wanted = reservations.Request.from_mapping(body)
    reserver = request.context.reserver
    if request.dry_run:
        return Answer(cells(CHOICE, reserver.preview(wanted)))
    before = request.context.reservations.of_instance(wanted.instance_uuid)
    if before is not None and not _is_open_to(request, before):
        raise exceptions.ReservationConflictError(
            f'instance {wanted.instance_uuid} has a reservation of another '
            'client',
            hint='Check the uuid of the instance',
        )
    made = reserver.create(wanted, origin=request.origin)
    answer = _shown(made)
    if before is not None and before.state is ReservationState.ACTIVE:
        return answer
    return Answer(answer.body, 201, f'/v1/reservations/{made.id}')


@Operation(
    'reservation:show',
    'GET /v1/reservations/{id}',
    _ANSWERS,
    allowed_to=Access.READ_RESERVATIONS,
    errors=(404, 502, 503),
)
def _show(request: Request) -> Answer:
    """Show one reservation, with the request that it was made for."""
    return _shown(_found(request))


@Operation(
    'reservation:confirm',
    'POST /v1/reservations/{id}/confirm',
    _ANSWERS,
    allowed_to=Access.SERVICE,
)
def _confirm(request: Request) -> Answer:
    """Confirm that a reservation is used, so that it does not expire.

    Automatic once the node is deployed.
    """
    return _shown(request.context.reserver.confirm(_found(request).id))


@Operation(
    'reservation:delete',
    'DELETE /v1/reservations/{id}',
    schemas.answer('The reservation, closed.', DETAILED),
    allowed_to=Access.SERVICE,
)
def _delete(request: Request) -> Answer:
    """Release a reserved node; idempotent.

    A deployed node is not released: 409.
    """
    reserver = request.context.reserver
    found = _found(request)
    return _shown(reserver.delete(found.id, origin=request.origin))


def _found(request: Request) -> Reservation:
    """Return the reservation in the path.

    :raises NotFoundError: also if another client made it.
    """
    found = request.context.reserver.find(request.path['id'])
    if not _is_open_to(request, found):
        raise unknown(request.path['id'])
    return found


def _is_open_to(request: Request, found: Reservation) -> bool:
    return not request.own_only or found.is_of(request.actor)


def _shown(one: Reservation) -> Answer:
    return Answer(cells(DETAILED, one))
