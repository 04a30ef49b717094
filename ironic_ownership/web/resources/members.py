"""``/v1/members``: the processes that the membership backend sees alive."""

from __future__ import annotations

from ironic_ownership.engine.members import memberships
from ironic_ownership.observe import service
from ironic_ownership.web import asking, shape
from ironic_ownership.web.operation import Access, Answer, Operation

_TYPES: shape.Types = {
    'host': shape.TEXT,
    'role': {
        'type': 'string',
        'enum': ['active', 'standby', 'unknown'],
        'description': 'What the process is to its host; unknown if the '
        'records do not answer.',
    },
    'incarnation': shape.TEXT,
    'joined_at': shape.TEXT_OR_NULL,
    'policies': shape.TEXTS,
    'settings': shape.THING,
    'contract_version': {'type': 'integer'},
    'readable': {
        'type': 'boolean',
        'description': 'Whether the policies that it advertises are known '
        'here.',
    },
}


def _list(asked: asking.Asked) -> Answer:
    behind = asked.behind
    found = memberships.take(
        lambda: behind.records, behind.backend, behind.interpret
    )
    return asked.page(
        'members',
        found.readings,
        lambda reading: f'{reading.member.host}/{reading.member.incarnation}',
        lambda reading: shape.cells(service.MEMBER, reading),
        found.doubts,
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
                shape.page('members', shape.thing(service.MEMBER, _TYPES)),
            )
        },
        query=asking.PAGE,
        errors=(503,),
    ),
)
