"""``/v1/reservations``: nodes reserved for instances."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources import reservation_schemas
from ironic_ownership.contracts import (
    exceptions,
    model,
    reservation_request,
)
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reservations import (
    OPEN,
    Reservation,
    ReservationState,
)
from ironic_ownership.engine.reservations.reserver import unknown
from ironic_ownership.observe.columns import cells

ID = Parameter(
    'id',
    'Id of the reservation or, while it is open, the uuid of its instance.',
    schemas.KEY,
    metavar='ID|INSTANCE',
)


def _list(request: Request) -> Answer:
    host = request.query.get('service')
    every = request.query.get('all')
    found = request.context.reservations.reservations(
        host=None if host is None else model.canonical_host(host),
        creator=request.actor if request.own_only else None,
        states=frozenset(ReservationState) if every else OPEN,
        limit=request.limit + 1,
        marker=request.query.get('marker'),
    )
    return request.part(
        'reservations',
        found,
        lambda one: one.id,
        lambda one: cells(reservation_schemas.RESERVATION, one),
    )


def _create(request: Request) -> Answer:
    body: dict[str, Any] = request.body
    wanted = reservation_request.Request.from_mapping(
        {key: value for key, value in body.items() if key != 'dry_run'}
    )
    reserver = request.context.reserver
    if body.get('dry_run', False):
        choice = reserver.preview(wanted)
        return Answer(cells(reservation_schemas.CHOICE, choice))
    before = request.context.reservations.of_instance(wanted.instance_uuid)
    if before is not None and not _is_open_to(request, before):
        raise exceptions.ReservationConflictError(
            f'instance {wanted.instance_uuid} has a reservation of another '
            'client',
            hint='Check the uuid of the instance',
        )
    made = reserver.create(wanted, origin=_origin(request))
    answer = _shown(made)
    if before is not None and before.state is ReservationState.ACTIVE:
        return answer
    return Answer(answer.body, 201, f'/v1/reservations/{made.id}')


def _show(request: Request) -> Answer:
    return _shown(_found(request))


def _confirm(request: Request) -> Answer:
    return _shown(request.context.reserver.confirm(_found(request).id))


def _delete(request: Request) -> Answer:
    reserver = request.context.reserver
    found = _found(request)
    return _shown(reserver.delete(found.id, origin=_origin(request)))


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


def _origin(request: Request) -> Origin:
    return Origin(request.actor, request.request_id)


def _shown(one: Reservation) -> Answer:
    return Answer(cells(reservation_schemas.DETAILED, one))


_ANSWERS = {200: ('The reservation.', reservation_schemas.DETAILS)}

OPERATIONS = (
    Operation(
        'reservation:list',
        'GET',
        '/v1/reservations',
        'List reservations, oldest first: the open ones, or all.',
        _list,
        Access.READ_RESERVATIONS,
        {
            200: (
                'A page of reservations.',
                schemas.page('reservations', reservation_schemas.LISTED),
            )
        },
        query=(
            Parameter(
                'service',
                'Only those of this service; case does not count.',
                schemas.HOST,
                metavar='HOST',
            ),
            Parameter('all', 'Also those that are closed.', schemas.FLAG),
            *PAGE,
        ),
        errors=(503,),
        columns=reservation_schemas.RESERVATION,
    ),
    Operation(
        'reservation:create',
        'POST',
        '/v1/reservations',
        'Reserve a free node that fits, for an instance of a service.',
        _create,
        Access.SERVICE,
        {
            200: (
                'It existed already; or the result of dry_run.',
                reservation_schemas.EITHER,
            ),
            201: ('The reservation, active.', reservation_schemas.DETAILS),
        },
        description='The node is reserved through Ironic, so that no two '
        'services get the same one, and owned by the service until the '
        'reservation is deleted. Idempotent: the same request returns the '
        'same reservation, and continues an unfinished one. 409: no_match '
        'has the number of nodes that each condition removed; with '
        'reservation_conflict the instance has another reservation; with '
        'service_refused the service is not eligible. 503 with '
        'reservation_unfinished: repeat the request.',
        body=reservation_schemas.BODY,
        errors=(404, 409, 502, 503),
    ),
    Operation(
        'reservation:show',
        'GET',
        '/v1/reservations/{id}',
        'Show one reservation, with the request that it was made for.',
        _show,
        Access.READ_RESERVATIONS,
        _ANSWERS,
        parameters=(ID,),
        errors=(404, 502, 503),
        columns=reservation_schemas.DETAILED,
    ),
    Operation(
        'reservation:confirm',
        'POST',
        '/v1/reservations/{id}/confirm',
        'Confirm that a reservation is used, so that it does not expire.',
        _confirm,
        Access.SERVICE,
        _ANSWERS,
        description='Automatic once the node is deployed.',
        parameters=(ID,),
        errors=(404, 409, 502, 503),
        columns=reservation_schemas.DETAILED,
    ),
    Operation(
        'reservation:delete',
        'DELETE',
        '/v1/reservations/{id}',
        'Release a reserved node; idempotent.',
        _delete,
        Access.SERVICE,
        {200: ('The reservation, closed.', reservation_schemas.DETAILS)},
        description='A deployed node is not released: 409.',
        parameters=(ID,),
        errors=(404, 409, 502, 503),
        columns=reservation_schemas.DETAILED,
    ),
)
