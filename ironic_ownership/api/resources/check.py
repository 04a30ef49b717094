"""``/v1/check``: all problems of the deployment."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.engine.checks import problem as problems
from ironic_ownership.engine.checks import runner
from ironic_ownership.observe import problem
from ironic_ownership.observe.columns import cells

_TYPES: schemas.Types = {
    'severity': schemas.codes(problems.Severity),
    'code': schemas.described(schemas.TEXT, 'Reason code, stable.'),
    'what': schemas.TEXT,
    'kind': {
        'type': 'string',
        'description': 'What the subjects are.',
        'enum': [kind.value for kind in problems.Kind],
    },
    'count': schemas.described(schemas.NUMBER, 'Number of subjects.'),
    'subjects': schemas.TEXTS,
    'services': schemas.TEXTS,
    'hint': schemas.TEXT,
}


def _check(request: Request) -> Answer:
    context = request.context
    found = runner.check(
        context.overview(placement=True),
        context.interpret,
        reporting=context.reports_inventory,
    )
    shown = [cells(problem.LONG, one) for one in found]
    return Answer({'problems': shown})


OPERATIONS = (
    Operation(
        'check:show',
        'GET',
        '/v1/check',
        'Check that every node is owned by one service, and list all '
        'problems.',
        _check,
        Access.READ,
        {
            200: (
                'All problems, errors first; none if all is well.',
                schemas.thing(
                    problems=schemas.array(schemas.thing(problem.LONG, _TYPES))
                ),
            )
        },
        description='Reads Ironic, the records and the members, and changes '
        'nothing. What does not answer is a problem of severity "unknown".',
    ),
)
