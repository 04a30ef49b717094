"""``/v1/policies``: comparison of two lists of policies."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api import policy_options, schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources import comparison
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import scenario

_POLICIES = {'type': 'string', 'maxLength': 1000}
_BODY = schemas.body(
    {
        'a': schemas.described(
            _POLICIES, 'A list of policies, separated by commas.'
        ),
        'b': schemas.described(_POLICIES, 'The list to compare it with.'),
        'options': schemas.array(
            {'type': 'string', 'maxLength': 1000},
            maxItems=100,
            description='Options of these policies, each as '
            '[HOST:][POLICY.]NAME=VALUE.',
        ),
        'nodes': schemas.described(schemas.FLAG, 'Also list each node.'),
    },
    ['a', 'b'],
)


def _compare(request: Request) -> Answer:
    body: dict[str, Any] = request.body
    given = [policy_options.option(text) for text in body.get('options', ())]
    may_import = request.context.may_import
    lists = [
        policy_options.policies(body[name], may_import) for name in ('a', 'b')
    ]
    seen = comparison.read(request)
    now = scenario.Situation(seen.view or model.View(), seen.services or ())
    policy_options.check_options(
        given, {**lists[0], **lists[1]}, now.view.hosts
    )
    before, after = (
        scenario.all_running(
            now,
            {
                member.host: policy_options.settings(member, classes, given)
                for member in now.view.members
            },
        )
        for classes in lists
    )
    return comparison.answer(
        request, seen, {}, before, after, nodes=body.get('nodes', False)
    )


OPERATIONS = (
    Operation(
        'policy:compare',
        'POST',
        '/v1/policies/compare',
        'Show which nodes two lists of policies would assign differently.',
        _compare,
        Access.READ,
        {200: ('Flows of nodes between services.', comparison.SCHEMA)},
        description='Nothing is changed. The policies have to be installed '
        'where the service runs. Records and instances do not count.',
        body=_BODY,
        errors=(404, 409, 502, 503),
    ),
)
