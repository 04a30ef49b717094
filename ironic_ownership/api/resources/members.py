"""``/v1/members``: the processes that the membership backend sees alive."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.observe import service
from ironic_ownership.observe.columns import cells

_TYPES: schemas.Types = {
    'host': schemas.TEXT,
    'role': {
        'type': 'string',
        'enum': ['active', 'standby', 'unknown'],
        'description': 'What the process is to its host; unknown if the '
        'records do not answer.',
    },
    'machine': schemas.TEXT_OR_NULL,
    'pid': {'type': ['integer', 'null']},
    'version': schemas.TEXT_OR_NULL,
    'last_heartbeat': schemas.described(
        schemas.TEXT_OR_NULL,
        'By the clock of the store. Where the store does not know it, as the '
        'active process has stored it with its records.',
    ),
    'incarnation': schemas.TEXT,
    'joined_at': schemas.TEXT_OR_NULL,
    'policies': schemas.TEXTS,
    'settings': schemas.THING,
    'member_values': schemas.MEMBER_VALUES,
    'contract_version': {'type': 'integer'},
    'readable': schemas.described(
        schemas.FLAG, 'Whether the policies that it advertises are known here.'
    ),
}


def _list(request: Request) -> Answer:
    context = request.context
    readings, doubts = member_listing.take(
        lambda: context.records, context.backend, context.interpret
    )
    return request.page(
        'members',
        readings,
        lambda reading: f'{reading.member.host}/{reading.member.incarnation}',
        lambda reading: cells(service.MEMBER, reading),
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
        {
            200: (
                'A page of members.',
                schemas.page('members', schemas.thing(service.MEMBER, _TYPES)),
            )
        },
        query=PAGE,
        errors=(503,),
    ),
)
