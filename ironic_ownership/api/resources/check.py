"""``/v1/check``: all problems of the deployment."""

from __future__ import annotations

import dataclasses

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Access, Operation
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.engine.checks import problem as problems
from ironic_ownership.engine.checks import runner
from ironic_ownership.observe.columns import Column, Columns, cells

COLUMNS: Columns[problems.Problem] = (
    Column(
        'severity',
        lambda p: str(p.severity),
        schemas.codes(problems.Severity),
    ),
    Column('code', help='Reason code, stable.'),
    Column('what'),
    Column(
        'kind',
        lambda p: str(p.kind),
        schemas.codes(problems.Kind),
        'What the subjects are.',
    ),
    Column(
        'count',
        lambda p: len(p.subjects),
        schemas.NUMBER,
        'Number of subjects.',
    ),
    Column('subjects', lambda p: list(p.subjects), schemas.TEXTS),
    Column('services', lambda p: list(p.services), schemas.TEXTS),
    Column('hint'),
)


def _check(request: Request) -> Answer:
    context = request.context
    found = runner.check(
        dataclasses.replace(
            context.overview(placement=True),
            reporting=context.reports_inventory,
        )
    )
    shown = [cells(COLUMNS, one) for one in found]
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
        schemas.answer(
            'All problems, errors first; none if all is well.',
            problems=schemas.array(schemas.thing(COLUMNS)),
        ),
        description='Reads Ironic, the records and the members, and changes '
        'nothing. What does not answer is a problem of severity "unknown".',
        columns=COLUMNS,
    ),
)
