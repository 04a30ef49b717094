"""``/v1/members``: the processes that the membership backend sees alive."""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources.services import (
    MEMBER_VALUES,
    member_values,
    options,
    policies,
)
from ironic_ownership.api.schemas import TEXT_OR_NULL
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.engine.membership.member_listing import Reading
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells


def _of_process(name: str) -> Callable[[Reading], columns.Cell]:
    return lambda reading: getattr(reading.member.settings.process, name, None)


COLUMNS: Columns[Reading] = (
    Column('host', 'member.host'),
    Column(
        'role',
        type=schemas.one_of('active', 'standby', 'unknown'),
        help='Role of the process for its host; unknown if the records do not '
        'answer.',
    ),
    Column('machine', _of_process('machine'), TEXT_OR_NULL),
    Column('pid', _of_process('pid'), schemas.NUMBER_OR_NULL),
    Column('version', _of_process('version'), TEXT_OR_NULL),
    Column(
        'last_heartbeat',
        lambda r: columns.moment(r.beaten_at),
        TEXT_OR_NULL,
        'By the clock of the store. Where the store does not know it, as the '
        'active process has stored it with its records.',
    ),
    Column('incarnation', 'member.incarnation'),
    Column(
        'joined_at', lambda r: columns.moment(r.member.joined_at), TEXT_OR_NULL
    ),
    Column('policies', lambda r: policies(r.member.settings), schemas.TEXTS),
    Column('settings', lambda r: options(r.member.settings), schemas.THING),
    Column(
        'member_values',
        lambda r: member_values(r.member.settings),
        MEMBER_VALUES,
    ),
    Column(
        'contract_version',
        'member.settings.contract_version',
        {'type': 'integer'},
    ),
    Column(
        'readable',
        type=schemas.FLAG,
        help='Whether the policies that it advertises are known here.',
    ),
)


def _list(request: Request) -> Answer:
    context = request.context
    readings, doubts = member_listing.take(
        lambda: context.records, context.backend, context.interpret
    )
    return request.page(
        'members',
        readings,
        lambda reading: f'{reading.member.host}/{reading.member.incarnation}',
        lambda reading: cells(COLUMNS, reading),
        doubts,
    )


OPERATIONS = (
    Operation(
        'member:list',
        'GET',
        '/v1/members',
        'List the members: live processes, as they advertise themselves.',
        _list,
        Access.READ,
        schemas.pages('A page of members.', 'members', COLUMNS),
        query=PAGE,
        errors=(503,),
        columns=COLUMNS,
    ),
)
