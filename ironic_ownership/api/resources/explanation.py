"""``/v1/compute-nodes/{node}/explain``: the chain that leads to an owner."""

from __future__ import annotations

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources.compute_nodes import (
    NODE,
    explained,
    unavailable,
)
from ironic_ownership.api.schemas import TEXT_OR_NULL, TEXTS
from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import advice, deployment
from ironic_ownership.engine.queries.explanation import Candidate, Explanation
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells

_NODE = (
    *('instance_uuid', 'shard', 'conductor_group', 'driver'),
    *('resource_class', 'provision_state', 'target_provision_state'),
    *('power_state', 'maintenance', 'retired', 'reservation'),
)
_MEMBER = (
    *('host', 'considered', 'why', 'alive', 'disabled'),
    *('forced_down', 'readable', 'admits'),
)
_Row = dict[str, columns.Cell]


def _inputs(explanation: Explanation) -> _Row:
    node, record = explanation.status.node, explanation.status.record
    shard, group = explanation.status.place
    return {
        'shard': shard,
        'conductor_group': group,
        'instance_uuid': node.instance_uuid if node else None,
        'recorded_instance_uuid': record.instance_uuid if record else None,
    }


def _member(candidate: Candidate) -> _Row:
    return {
        **{name: getattr(candidate, name) for name in _MEMBER},
        'policies': [
            {
                'policy': result.policy.name,
                'options': _plain(result.policy),
                'member_values': _plain(result.values),
                'admits': result.admits,
                'says': result.detail,
            }
            for result in candidate.results
        ],
    }


def _plain(settings: model.PolicySettings) -> _Row:
    return {name: columns.plain(value) for name, value in settings.options}


def _record(explanation: Explanation) -> _Row | None:
    record, owner = explanation.status.record, explanation.owner
    if record is None:
        return None
    return {
        'service': record.host,
        'service_alive': explanation.status.owner_alive,
        'service_epoch': owner.epoch if owner else None,
        'instance_uuid': record.instance_uuid,
        'shard': record.shard,
        'conductor_group': record.conductor_group,
        'reason': record.reason.value,
        'unavailable': record.unavailable,
        'updated_at': columns.moment(record.updated_at),
    }


def _ironic(explanation: Explanation) -> _Row | None:
    node = explanation.status.node
    if node is None:
        return None
    return {name: getattr(node, name) for name in _NODE}


def _preferred(explanation: Explanation) -> _Row | None:
    found = explanation.preferred
    if found is None:
        return None
    return {
        'service': found.owner,
        'reason': found.reason.value,
        'note': found.note or None,
    }


def _contest(explanation: Explanation) -> str | None:
    contest = explanation.decision.contest
    return contest.value if contest else None


COLUMNS: Columns[Explanation] = (
    Column('uuid', 'status.uuid'),
    Column('name', 'status.name', TEXT_OR_NULL),
    schemas.code('state', deployment.State, 'status.state'),
    Column('inputs', _inputs, schemas.THING),
    Column(
        'members', lambda e: [_member(c) for c in e.candidates], schemas.THINGS
    ),
    Column('assigner', type=TEXT_OR_NULL),
    Column('peers', lambda e: list(e.peers), TEXTS),
    Column('live_peers', lambda e: list(e.live_peers), TEXTS),
    Column('policies_want', _preferred, schemas.THING_OR_NULL),
    Column('decided_owner', 'decision.owner', TEXT_OR_NULL),
    Column('reason', 'decision.reason.value', help='Reason code, stable.'),
    Column('rule', advice.rule),
    Column('contest', _contest, TEXT_OR_NULL),
    Column('contenders', lambda e: list(e.decision.contenders), TEXTS),
    Column('filtered', 'decision.filtered', schemas.FLAG),
    Column(
        'unavailable',
        lambda e: unavailable(e.status),
        TEXT_OR_NULL,
        'Why nothing can be scheduled to the node; null if it can be. A code, '
        'stable.',
    ),
    Column('record', _record, schemas.THING_OR_NULL),
    Column('ironic', _ironic, schemas.THING_OR_NULL),
    Column('advice', lambda e: list(advice.advise(e)), TEXTS),
)


@Operation(
    'compute_node:explain',
    'GET /v1/compute-nodes/{node}/explain',
    schemas.answer('The chain, from the inputs to the advice.', COLUMNS),
    parameters=(NODE,),
    errors=(404, 502, 503),
)
def _explain(request: Request) -> Answer:
    """Explain the owner of a node: inputs, members, policies, record."""
    with request.context.ports() as ports:
        found = explained(request, ports)
    return Answer(cells(COLUMNS, found))
