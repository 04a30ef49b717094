"""The gates of a move and of a release, all evaluated for every node. Pure.

A code means the same in both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.changes.case import Case, OwnerChange, PlannedNode
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.gates import Found, Gate, GateResult, unknown

_Check = Callable[[Case], Found | str | None]


def evaluate(case: Case) -> tuple[GateResult, ...]:
    """Return the result of every gate for one node."""
    table = RELEASE if case.destination is None else MOVE
    return gates.evaluate(table, case, case.change.overrides)


def _record_exists(case: Case) -> str | None:
    return None if case.record else 'no compute node is on record for it'


def _of_cell(code: str) -> _Check:
    """Fail if the cell, if there is one, objects with the code of a gate."""

    def of_case(case: Case) -> str | None:
        line = case.snapshot.objections.get(case.uuid, '')
        found, _, detail = line.partition(': ')
        return detail if found == code else None

    return of_case


def _source_stopped(case: Case) -> Found | str | None:  # Model: Moves
    if case.record is None:
        return unknown('no compute node is on record')
    if case.source is None:
        # An unowned node has no source to stop.
        return None
    running = case.source_runs
    return case.unbounded if running and case.can_be_released else running


def _not_same_service(case: Case) -> str | None:
    same = case.source == case.destination
    return f'{case.destination} owns it already' if same else None


def _destination_exists(case: Case) -> str | None:
    known = case.destination in case.snapshot.services
    return None if known else f'{case.destination} is not registered'


def _destination_alive(case: Case) -> Found | str | None:
    view, host = case.snapshot.view, case.destination
    if isinstance(view, str):
        return unknown(view)
    return None if view.get(str(host)) else f'{host} is not a member'


def _destination_enabled(case: Case) -> Found | str | None:
    service = case.snapshot.services.get(str(case.destination))
    if service is None:
        return unknown(f'{case.destination} is not registered')
    if service.forced_down:
        return f'{case.destination} is forced down'
    return f'{case.destination} is disabled' if service.disabled else None


def _destination_admits(case: Case) -> Found | str | None:
    node = case.node
    policies, host = case.change.policies, case.destination
    if policies is None:
        return unknown(f'the policies of {host} are unknown')
    if policies.admits_in_time(node):
        return None
    return (
        f'{host} does not admit it: shard {node.shard or "none"}, conductor '
        f'group {node.conductor_group or "default"}'
    )


def _node_exists(case: Case) -> Found | str | None:
    nodes = case.snapshot.nodes
    if isinstance(nodes, str):
        return unknown(nodes)
    return None if nodes.get(case.uuid) else 'Ironic answers 404 for its uuid'


def _at_most_one_instance(case: Case) -> str | None:
    running = case.running
    if {*running} <= {case.instance_uuid, case.recorded}:
        return None
    return f'{len(running)} instances are on record: {", ".join(running)}'


def _instance_agrees(case: Case) -> Found | str | None:
    instance, found = case.instance_uuid, case.node.instance_uuid
    if case.record is None:
        return unknown('no compute node is on record')
    if instance == found:
        return None
    where = 'record' if instance == case.recorded else 'cell'
    return f'the {where} has {instance or "none"}, Ironic {found or "none"}'


def operation_on(node: model.Node) -> str | None:
    """Return the operation in progress on a node, in one line."""
    if node.reservation:
        return f'conductor {node.reservation} has reserved it'
    if node.target_power_state:
        return f'its power state changes to {node.target_power_state}'
    state = node.provision_state or ''
    # Ironic keeps the target of an operation that has failed.
    has_failed = state == 'error' or state.endswith('failed')
    if node.target_provision_state and not has_failed:
        return (
            f'its provision state changes from {node.provision_state} to '
            f'{node.target_provision_state}'
        )
    return None


def _owner_registered(case: Case) -> str | None:
    row = case.snapshot.services.get(case.source or '')
    if row is not None and row.never_registered:
        return f'{case.source} has never registered: it may not use a guard'
    return case.unbounded


def _no_instance(case: Case) -> str | None:
    if case.running:
        return f'the record has {", ".join(case.running)}'
    found = case.node.instance_uuid
    return found and f'Ironic has the instance {found} on it'


def _not_given_back(case: Case) -> str | None:
    taker = next_owner(case)
    if taker is None or taker != case.source:
        return None
    return f'its policies give it back to {taker}'


def next_owner(case: Case) -> str | None:
    """Return the service that claims a node when it is released.

    :raises OwnershipError: if that can't be computed here.
    """
    node, groups = case.node, case.change.peer_groups
    admitting = [g for g in groups.groups if groups.admits(g.hosts[0], node)]
    if not all(group.policies.node_by_node for group in admitting):
        raise exceptions.OwnershipError(
            'its policies decide about all nodes together'
        )
    records = {}
    if case.record is not None:
        records[case.uuid] = dataclasses.replace(
            case.record, host=None, instance_uuid=None
        )
    found = decide.decide([node], records, groups)[case.uuid]
    if found.reason is Reason.UNDECIDED:
        raise exceptions.OwnershipError(
            f'the policies of {texts.listed(found.contenders)} fail'
        )
    return found.owner


RECORD_EXISTS = Gate(
    'record_exists',
    'the node has a compute node on record',
    'See which service claims it: ironic-ownership compute node explain '
    '{case.uuid}',
    _record_exists,
)
NODE_EXISTS = Gate(
    'node_exists',
    'Ironic has the node',
    'Do not {case.verb} its record, delete it: ironic-ownership compute node '
    'delete {case.uuid}',
    _node_exists,
    overridable=True,
)
DESTINATION_ADMITS = Gate(
    'destination_admits',
    'its policies admit the node',
    'Name a service that admits it, see "ironic-ownership compute node '
    'explain {case.uuid}"; or change shard and conductor group of the node in '
    'Ironic',
    _destination_admits,
    overridable=True,
)
NO_OPERATION: Gate[Case] = Gate(
    'no_operation_in_progress',
    'no conductor has reserved the node',
    'Repeat the {case.verb} after the operation',
    lambda case: operation_on(case.node),
    overridable=True,
)
NO_INSTANCE = Gate(
    'no_instance',
    'neither Ironic nor the record has one on it',
    'A node with an instance is moved together with it: '
    + suggestions.HAND_OVER.format(
        owner='{case.source}', uuid='{case.uuid}', host='HOST'
    ),
    _no_instance,
)
_NEW_OWNER = (
    'Name its new service: ironic-ownership compute node move {case.uuid} '
    '--to HOST'
)

MOVE = (
    RECORD_EXISTS,
    Gate(
        'is_ironic',
        'its row in the cell is of the type ironic',
        'If it is a node of Ironic, correct its row in the cell: UPDATE '
        "compute_nodes SET hypervisor_type = 'ironic' WHERE uuid = "
        "'{case.uuid}'",
        _of_cell('is_ironic'),
    ),
    Gate(
        'cell_service',
        'the destination is a nova-compute service of the cell',
        'Start the nova-compute with [DEFAULT] host = {case.destination}, or '
        'name another service',
        _of_cell('cell_service'),
    ),
    Gate(
        'cell_row',
        'no other row of the cell gives the node to the destination',
        'ironic-ownership nova check: do what it advises for {case.uuid}',
        _of_cell('cell_row'),
    ),
    Gate(
        'source_stopped',
        'it is unowned, or its owner has stopped or can release it',
        'Make sure that it has stopped, then: ironic-ownership service set '
        '{case.source} --down',
        _source_stopped,
    ),
    Gate(
        'not_same_service',
        'its owner is not the destination',
        'Nothing to do',
        _not_same_service,
    ),
    Gate(
        'destination_exists',
        'the destination is a registered service',
        'Start ironic-ownership-host with [DEFAULT] host = '
        '{case.destination}, or name a service of "ironic-ownership service '
        'list"',
        _destination_exists,
    ),
    Gate(
        'destination_alive',
        'the destination is a member',
        'Start ironic-ownership-host with [DEFAULT] host = {case.destination}',
        _destination_alive,
        overridable=True,
    ),
    Gate(
        'destination_enabled',
        'it is neither disabled nor forced down',
        'ironic-ownership service set {case.destination} --enable --up',
        _destination_enabled,
        overridable=True,
    ),
    DESTINATION_ADMITS,
    NODE_EXISTS,
    Gate(
        'at_most_one_instance',
        'at most one instance is on record',
        'Delete those that do not run on it, in the service that made them',
        _at_most_one_instance,
    ),
    Gate(
        'instance_agrees',
        'it is the instance in Ironic',
        'A running owner records the instance of Ironic at its next refresh. '
        'Otherwise --override instance_agrees --reason TEXT: the destination '
        'records it',
        _instance_agrees,
        overridable=True,
    ),
    NO_OPERATION,
)
"""The gates of a move."""

OVERRIDABLE = tuple(gate.code for gate in MOVE if gate.overridable)

RELEASE = (
    RECORD_EXISTS,
    Gate(
        'owner_registered',
        'its owner confirms its permissions with the records',
        'Start ironic-ownership-host of this release with [DEFAULT] host = '
        '{case.source}. Or, if it has stopped: ironic-ownership service set '
        '{case.source} --down, and ironic-ownership compute node move '
        '{case.uuid} --to HOST',
        _owner_registered,
    ),
    NODE_EXISTS,
    NO_INSTANCE,
    NO_OPERATION,
    Gate(
        'not_given_back',
        'its policies give it to another service, or to none',
        _NEW_OWNER,
        _not_given_back,
        unknown_hint=_NEW_OWNER,
    ),
)
"""The gates of a release, none of which can be overridden."""


def plan_node(order: Move, change: OwnerChange, uuid: str) -> PlannedNode:
    """Evaluate the gates of one node, unless the destination owns it.

    Of one that keeps its owner, only its shard may change.
    """
    case = Case(change, uuid)
    record, source, shard = case.record, case.source, order.shard
    node = case.known_node if shard is not None else None
    results: tuple[GateResult, ...] = ()
    instance, state, detail = case.recorded, NodeState.UNCHANGED, None
    owned = record is not None and source == case.destination
    if not owned:
        instance = case.instance_uuid
    # The services of its new shard claim an unowned node.
    if node and (owned or source is None) and not operation_on(node):
        if case.shard_before != shard:
            state = NodeState.PLANNED
    elif not owned:
        results = evaluate(case)
        state, detail = _state(results)
    return PlannedNode(
        NodeMove(uuid, source, case.epoch, instance, state, detail),
        (record.name if record else None) or (node.name if node else None),
        results,
        state is NodeState.PLANNED and not owned and case.hands_over,
        order.destination,
        order.request_id,
        case.shard_before,
        shard,
    )


def _state(results: Sequence[GateResult]) -> tuple[NodeState, str | None]:
    if blocking := gates.refusals(results):
        return NodeState.REFUSED, _details(blocking)
    overridden = [r for r in results if r.outcome is not gates.Outcome.PASSED]
    detail = f'overridden: {_details(overridden)}' if overridden else None
    return NodeState.PLANNED, detail


def _details(results: Sequence[GateResult]) -> str:
    return '; '.join(f'{r.gate}: {r.detail}' for r in results)
