"""``/v1/services`` and ``/v1/members``: from records and membership."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.schemas import Column, Columns, cells
from ironic_ownership.contracts import model, texts
from ironic_ownership.contracts.conditions import Condition
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.engine.membership.member_listing import Reading
from ironic_ownership.engine.queries import service_status
from ironic_ownership.engine.queries.service_status import ServiceStatus

_Row = dict[str, schemas.Cell]


def _by_name(policies: Sequence[model.PolicySettings]) -> _Row:
    """Return the options that are set, by name.

    An option that two policies have is shown with the name of its policy
    before it.
    """
    found = [
        (policy.name, name, schemas.plain(value))
        for policy in policies
        for name, value in policy.options
        if value is not None
    ]
    names = [name for _, name, _ in found]
    return {
        name if names.count(name) == 1 else f'{policy}.{name}': value
        for policy, name, value in found
    }


def advertised(path: str) -> Columns[Any]:
    """Return the columns of settings that a process advertises.

    :param path: of the settings.
    """
    of = operator.attrgetter(path)
    return (
        Column(
            'policies',
            lambda one: [p.name for p in of(one).policies],
            schemas.TEXTS,
        ),
        Column(
            'settings', lambda one: _by_name(of(one).policies), schemas.THING
        ),
        Column(
            'member_values',
            lambda one: _by_name(of(one).values),
            schemas.THING,
            'Values that the service advertises for itself alone, such as a '
            'weight; peers may have different ones.',
        ),
        Column(
            'contract_version', f'{path}.contract_version', {'type': 'integer'}
        ),
    )


_LOOP: Columns[Condition] = (
    Column('loop'),
    schemas.moment('succeeded_at'),
    Column('code', type=schemas.TEXT_OR_NULL),
    Column('error', lambda one: one.error or None, schemas.TEXT_OR_NULL),
    schemas.moment('since'),
    Column('ended', type=schemas.FLAG),
    Column('waits', lambda one: one.note or None, schemas.TEXT_OR_NULL),
)


def standing_order(path: str) -> Column[Any]:
    """Return the column of the order for a service without its processes.

    :param path: of the row of the service.
    """
    of = operator.attrgetter(path)

    def cell(one: Any) -> schemas.Cell:
        row: model.Service = of(one)
        if row.order is None:
            return None
        due_at = texts.moment(row.order_due_at)
        return {**dataclasses.asdict(row.order), 'due_at': due_at}

    return Column(
        'standing_order',
        cell,
        schemas.THING_OR_NULL,
        'When its deployed nodes move to other services: "after" so many '
        'seconds without it, "to" which service, by which "actor" and for '
        'which "reason"; "due_at" is the time, once it is fenced. Null '
        'without one.',
    )


SHORT: Columns[ServiceStatus] = (
    Column('host', 'row.host'),
    Column(
        'alive',
        type=schemas.one_of('up', 'standby', 'away', 'down', 'unknown'),
        help='The view of the membership: up; standby, while only processes '
        'are alive that stand by; away, if it was stopped for a while; down; '
        'unknown, if the membership does not answer. Next to a Nova cell also '
        'up: a nova-compute without the driver that sends heartbeats to Nova.',
    ),
    Column(
        'status',
        lambda s: 'disabled' if s.row.disabled else 'enabled',
        schemas.one_of('enabled', 'disabled'),
    ),
    Column('forced_down', 'row.forced_down', schemas.FLAG),
    Column('epoch', 'row.epoch', schemas.NUMBER),
    Column('nodes', type=schemas.NUMBER),
    Column('instances', type=schemas.NUMBER),
    schemas.nullable(
        'conditions',
        'The loops that fail: ok, unknown, or their names; null without '
        'a process.',
    ),
)
_ADVERTISED = advertised('settings')
_REST: Columns[ServiceStatus] = (
    Column('fenced', 'row.fenced', schemas.FLAG),
    Column(
        'standbys',
        lambda s: s.standbys if s.view_known else None,
        schemas.NUMBER_OR_NULL,
    ),
    Column('disabled_reason', 'row.disabled_reason', schemas.TEXT_OR_NULL),
    schemas.moment('registered_at', 'row.registered_at'),
    standing_order('row'),
    *_ADVERTISED[:3],
)
LONG: Columns[ServiceStatus] = (
    *SHORT,
    Column('free', lambda s: s.nodes - s.instances, {'type': 'integer'}),
    Column(
        'unavailable',
        type=schemas.NUMBER_OR_NULL,
        help='Nodes that could not be given to a client now; null if that is '
        'not known.',
    ),
    Column('of_mean', lambda s: schemas.rounded(s.of_mean), schemas.OF_MEAN),
    *_REST,
)
DETAILS: Columns[ServiceStatus] = (
    *SHORT,
    *_REST,
    schemas.maybe('incarnation', 'member.incarnation'),
    schemas.moment('joined_at', 'member.joined_at'),
    _ADVERTISED[3],
    Column('view_checksum', 'row.view_checksum', schemas.TEXT_OR_NULL),
    Column('config_error', 'row.config_error', schemas.TEXT_OR_NULL),
    schemas.nullable(
        'last_refresh',
        'One sentence: what the last successful refresh did, and what '
        'waits for whom; null if the service has stored none.',
    ),
    Column(
        'loops',
        lambda s: [
            cells(_LOOP, one)
            for one in (s.report.conditions if s.report else ())
        ],
        schemas.THINGS,
        'The condition of each loop, as stored by the service: its last '
        'success, and an error with the time since which it fails.',
    ),
)
_WITH_LOAD = schemas.Parameter(
    'long',
    'Also show how much of it is free and unavailable, its share against '
    'the mean, whether it is fenced, why it is disabled, when it registered, '
    'its policies and their settings. Ironic is read for all nodes.',
    schemas.FLAG,
)


# The long columns are optional.
_LISTED = {**schemas.thing(LONG), 'required': list(schemas.keys(SHORT))}


@Operation(
    'service:list',
    'GET /v1/services',
    {200: ('A page of services.', schemas.page('services', _LISTED))},
    query=(_WITH_LOAD, *schemas.PAGE),
    errors=(503,),
    columns=LONG,
    short=SHORT,
)
def _list(request: Request) -> Answer:
    """List the compute services: alive or not, and how much they own."""
    context = request.context
    services, warnings = service_status.read(context.records, context.backend)
    shown = SHORT
    if request.query.get('long'):
        # Imported where it is called: a short list does without decisions.
        from ironic_ownership.engine.queries import balance

        seen = context.overview(complete=False)
        services, more = balance.add_load(services, seen)
        warnings += more
        shown = LONG
    return request.page(
        services,
        lambda status: status.row.host,
        warnings,
        shown,
    )


@Operation(
    'service:show',
    'GET /v1/services/{host}',
    schemas.answer('The service.', DETAILS, warnings=schemas.WARNINGS),
    errors=(404, 503),
)
def _show(request: Request) -> Answer:
    """Show one compute service: row, membership, settings, nodes owned."""
    services, warnings = service_status.read(
        request.context.records, request.context.backend
    )
    by_host = {status.row.host: status for status in services}
    host = suggestions.known_service(request.path['host'], by_host)
    return Answer(cells(DETAILS, by_host[host]) | {'warnings': warnings})


_PROCESS = 'member.settings.process'
MEMBERS: Columns[Reading] = (
    Column('host', 'member.host'),
    Column(
        'role',
        type=schemas.one_of('active', 'standby', 'unknown'),
        help='Role of the process for its host; unknown if the records do not '
        'answer.',
    ),
    schemas.maybe('machine', f'{_PROCESS}.machine'),
    schemas.maybe('pid', f'{_PROCESS}.pid', schemas.NUMBER_OR_NULL),
    schemas.maybe('version', f'{_PROCESS}.version'),
    schemas.moment(
        'last_heartbeat',
        'beaten_at',
        'By the clock of the store. Where the store does not know it, as the '
        'active process has stored it with its records.',
    ),
    Column('incarnation', 'member.incarnation'),
    schemas.moment('joined_at', 'member.joined_at'),
    *advertised('member.settings'),
    Column(
        'readable',
        type=schemas.FLAG,
        help='Whether the policies that it advertises are known here.',
    ),
)


@Operation(
    'member:list',
    'GET /v1/members',
    schemas.pages('A page of members.', 'members', MEMBERS),
    query=schemas.PAGE,
    errors=(503,),
)
def _list_members(request: Request) -> Answer:
    """List the members: live processes, as they advertise themselves."""
    context = request.context
    readings, doubts = member_listing.take(
        lambda: context.records, context.backend, context.interpret
    )
    return request.page(
        readings,
        lambda reading: f'{reading.member.host}/{reading.member.incarnation}',
        doubts,
    )
