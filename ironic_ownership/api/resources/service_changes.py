"""``/v1/services/{host}``: set, delete and fail over a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources.refusals import refuse
from ironic_ownership.api.resources.services import standing_order
from ironic_ownership.api.schemas import Column, Columns, cells
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.engine.changes.services import (
    SETTINGS,
    DeleteService,
    Failover,
    FailOverService,
    ServiceChange,
    ServiceDeletion,
    propose_settings,
)
from ironic_ownership.engine.changes.standing_orders import propose_order
from ironic_ownership.engine.gates import GateResult
from ironic_ownership.engine.host.enforcement import require_enforcement
from ironic_ownership.engine.ports import Placement

_EXAMPLES = 5
"""The number of remaining things that a refusal names."""

CHANGE: Columns[ServiceChange] = (
    Column('host', 'after.host'),
    Column(
        'status',
        lambda c: 'disabled' if c.after.disabled else 'enabled',
        schemas.one_of('enabled', 'disabled'),
    ),
    Column('disabled_reason', 'after.disabled_reason', schemas.TEXT_OR_NULL),
    Column('forced_down', 'after.forced_down', schemas.FLAG),
    Column('fenced', 'after.fenced', schemas.FLAG),
    Column('epoch', 'after.epoch', schemas.NUMBER),
    standing_order('after'),
    Column(
        'changed',
        type=schemas.TEXTS,
        help='The names of the settings that are not as before.',
    ),
)
GATES: Columns[GateResult] = (
    Column('gate', help='A code, stable.'),
    Column('passed', type=schemas.FLAG),
    Column('left', lambda g: len(g.remaining), schemas.NUMBER),
    Column('examples', lambda g: list(g.remaining[:_EXAMPLES]), schemas.TEXTS),
    Column('hint', lambda g: g.hint or None, schemas.HINT),
)
FAILOVER: Columns[Failover] = (
    Column('host', 'after.host'),
    Column('from_incarnation', 'before.incarnation', schemas.TEXT_OR_NULL),
    Column('to_incarnation', 'target', schemas.TEXT_OR_NULL),
    Column(
        'done',
        type=schemas.FLAG,
        help='Whether the standby is the active process.',
    ),
    Column('epoch', 'after.epoch', schemas.NUMBER),
)
_FAILOVER_GATES: Columns[GateResult] = (
    *GATES[:2],
    Column('detail'),
    GATES[-1],
)


def _gates(of: Columns[GateResult]) -> dict[str, Any]:
    return schemas.array(schemas.thing(of))


_COMMON = {'reason': schemas.REASON, 'dry_run': schemas.DRY_RUN}


def _order(after: dict[str, Any], *required: str, **more: Any) -> Any:
    properties = {
        'take_over_deployed_after': after,
        'whole_scope': schemas.described(
            schemas.FLAG,
            'Give or revoke the order for all services that advertise its '
            'scope.',
        ),
    }
    return schemas.body(
        {**properties, **more, **_COMMON},
        ['take_over_deployed_after', *required],
    )


_FORCED = {'forced_down': schemas.FLAG, **_COMMON}
_SET = {
    'description': 'sets "disabled", "forced_down", or both; with '
    '"disabled": true also a "disabled_reason"; or it sets '
    '"take_over_deployed_after" with a "reason"',
    'anyOf': [
        schemas.body(
            {
                'disabled': {'enum': [True]},
                'disabled_reason': schemas.WORDS,
                **_FORCED,
            },
            ['disabled'],
        ),
        schemas.body({'disabled': {'enum': [False]}, **_FORCED}, ['disabled']),
        schemas.body(_FORCED, ['forced_down']),
        _order(
            schemas.described(
                {'type': 'integer', 'minimum': 1, 'maximum': 10**9},
                'Seconds for which the service has to be fenced until its '
                'deployed nodes move to other services.',
            ),
            'reason',
            take_over_deployed_to=schemas.described(
                schemas.HOST,
                'The service that gets the nodes, instead of the one that '
                'their policies choose.',
            ),
        ),
        _order({'type': 'null', 'description': 'Revokes the order.'}),
    ],
}


def _give_order(request: Request) -> Answer:
    body, context = request.body, request.context
    order = None
    if body['take_over_deployed_after'] is not None:
        order = StandingOrder(
            body['take_over_deployed_after'],
            request.actor,
            body['reason'],
            body.get('take_over_deployed_to'),
        )
    changes = propose_order(
        context.records,
        context.interpret,
        request.path['host'],
        order,
        whole_scope=body.get('whole_scope', False),
    )
    if order is not None:
        ironic = context.ports_of(request.request_id).ironic
        require_enforcement(ironic, context.shared_key)
    return _changed(request, changes)


def _changed(request: Request, changes: Sequence[ServiceChange]) -> Answer:
    if not request.dry_run:
        records, origin = request.context.records, request.origin
        changes = [change.execute(records, origin) for change in changes]
    return request.changed(
        {
            **cells(CHANGE, changes[0]),
            'services': [change.after.host for change in changes],
        }
    )


@Operation(
    'service:set',
    'PATCH /v1/services/{host}',
    schemas.answer(
        'The service as it is now, or would be.',
        CHANGE,
        services=schemas.described(
            schemas.TEXTS, 'All services that the request names.'
        ),
        **schemas.CHANGE,
    ),
    body=_SET,
)
def _set(request: Request) -> Answer:
    """Enable or disable a service, force it down, or give it an order.

    A disabled service is given no nodes and keeps those that it has. A
    forced-down service is fenced immediately; when that is cleared, it
    registers again automatically. A repeated request changes nothing. A
    standing order is refused with 409 while Ironic does not enforce ownership;
    the same order again lets its whole time pass again.
    """
    body = request.body
    if 'take_over_deployed_after' in body:
        return _give_order(request)
    change = propose_settings(
        request.context.records,
        request.path['host'],
        {name: body[name] for name in SETTINGS if name in body},
    )
    return _changed(request, [change])


@Operation(
    'service:delete',
    'DELETE /v1/services/{host}',
    schemas.answer(
        'The service was deleted; or the proposal, for dry_run.',
        host=schemas.TEXT,
        gates=_gates(GATES),
        **schemas.CHANGE,
    ),
    query=schemas.OF_DELETION,
    columns=GATES,
)
def _delete(request: Request) -> Answer:
    """Delete a service that owns nothing and does not run.

    The gates are those of "ironic-ownership service delete"; 409 lists them if
    one fails.
    """
    context = request.context

    def open_placement() -> Placement | None:
        if not context.reports_inventory:
            return None
        return context.placement_of(request.request_id)

    operation = DeleteService(context.records, context.backend, open_placement)
    proposal = operation.propose(request.path['host'])
    gates = [cells(GATES, gate) for gate in proposal.gates]
    if not request.dry_run:
        _check(proposal, 'deleted', gates)
        operation.execute(proposal, request.origin)
    return request.changed(
        {'host': proposal.host, 'gates': gates}, proposal.warnings
    )


@Operation(
    'service:failover',
    'POST /v1/services/{host}/failover',
    schemas.answer(
        'The service after the failover, or the proposal.',
        FAILOVER,
        gates=_gates(_FAILOVER_GATES),
        **schemas.CHANGE,
    ),
    body=schemas.body(
        {
            'to': schemas.described(
                schemas.NAME,
                'The incarnation of the standby, as in "member list", or '
                'a prefix of it; needed if there are several.',
            ),
            **_COMMON,
        }
    ),
    errors=(404, 409, 503),
)
def _fail_over(request: Request) -> Answer:
    """Make a standby the active process of its service.

    The active process is fenced immediately. No node changes owner. The answer
    waits up to half a minute until the standby has taken over; "done" shows
    whether it has. 409 lists the gates if one fails.
    """
    operation = FailOverService(
        request.context.records, request.context.backend
    )
    failover = operation.propose(request.path['host'], request.body.get('to'))
    gates = [cells(_FAILOVER_GATES, gate) for gate in failover.gates]
    warnings = []
    if not request.dry_run:
        _check(failover, 'failed over', gates)
        failover = operation.execute(failover, request.origin)
        if not failover.done:
            after = failover.after
            active = after.incarnation
            warnings.append(
                f'{failover.target} did not take over: {after.host} is served '
                f'by {"no process yet" if after.fenced else active}'
            )
    return request.changed(
        {**cells(FAILOVER, failover), 'gates': gates}, warnings
    )


def _check(
    proposal: ServiceDeletion | Failover,
    done: str,
    gates: Sequence[dict[str, Any]],
) -> None:
    """Refuse to execute a proposal with failed gates.

    :raises GatesFailedError: with all gates.
    """
    if proposal.refused:
        refuse(
            f'service {proposal.host} is not {done}, refused by',
            proposal.refused,
            gates=gates,
            hint='Correct the causes, and send the request again',
        )
