"""The gates of a release: named checks, all evaluated for every node. Pure.

The codes are public interface, and those of a move mean the same here.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.described import DescribedEnum
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.gates import UNKNOWN_HINT, GateResult, Outcome
from ironic_ownership.engine.moves.gates import Snapshot, operation_on


class Gate(DescribedEnum):
    """One named check."""

    RECORD_EXISTS = 'record_exists', 'the node has a compute node on record'
    OWNER_REGISTERED = (
        'owner_registered',
        'its owner confirms its permissions with the records',
    )
    NODE_EXISTS = 'node_exists', 'Ironic has the node'
    NO_INSTANCE = 'no_instance', 'neither Ironic nor the record has one on it'
    NO_OPERATION_IN_PROGRESS = (
        'no_operation_in_progress',
        'no conductor has reserved the node',
    )
    NOT_GIVEN_BACK = (
        'not_given_back',
        'its policies give it to another service, or to none',
    )


HINTS: Mapping[Gate, str] = {
    Gate.RECORD_EXISTS: (
        'See which service claims it: ironic-ownership compute node explain '
        '{uuid}'
    ),
    Gate.OWNER_REGISTERED: (
        'Start ironic-ownership-host with [DEFAULT] host = {owner}. Or, if it '
        'has stopped: ironic-ownership service set {owner} --down, and '
        'ironic-ownership compute node move {uuid} --service HOST'
    ),
    Gate.NODE_EXISTS: (
        'Do not release its record, delete it: ironic-ownership compute node '
        'delete {uuid}'
    ),
    Gate.NO_INSTANCE: (
        'A node with an instance is moved together with it: stop {owner}, '
        'then: ironic-ownership service set {owner} --down, and '
        'ironic-ownership compute node move {uuid} --service HOST; then start '
        '{owner} again: ironic-ownership service set {owner} --up'
    ),
    Gate.NO_OPERATION_IN_PROGRESS: 'Repeat the release after the operation',
    Gate.NOT_GIVEN_BACK: (
        'Name its new service: ironic-ownership compute node move {uuid} '
        '--service HOST'
    ),
}
"""The action for every gate that failed."""


class _Unknown(str):
    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Gates:
    """The gates of a release, on one snapshot."""

    snapshot: Snapshot
    interpret: policy_set.Interpreter

    def evaluate(self, record: model.ComputeNode) -> tuple[GateResult, ...]:
        """Return the result of every gate for a node on record."""
        return tuple(
            _result(gate, record, check(record))
            for gate, check in (
                (Gate.RECORD_EXISTS, lambda record: None),
                (Gate.OWNER_REGISTERED, self._owner_registered),
                (Gate.NODE_EXISTS, self._node_exists),
                (Gate.NO_INSTANCE, self._no_instance),
                (Gate.NO_OPERATION_IN_PROGRESS, self._no_operation),
                (Gate.NOT_GIVEN_BACK, self._not_given_back),
            )
        )

    def next_owner(self, record: model.ComputeNode) -> str | None:
        """Return the service that claims the node when it is released.

        :raises OwnershipError: if that can't be computed here.
        """
        node = self._node(record)
        if isinstance(node, str):
            raise exceptions.OwnershipError(node)
        groups = self._peer_groups
        if isinstance(groups, str):
            raise exceptions.OwnershipError(groups)
        if _is_decided_with_others(node, groups):
            raise exceptions.OwnershipError(
                'its policies decide about all nodes together'
            )
        free = dataclasses.replace(record, host=None, instance_uuid=None)
        found = decide.decide([node], {record.uuid: free}, groups)
        return found[record.uuid].owner

    @functools.cached_property
    def _peer_groups(self) -> PeerGroups | str:
        view = self.snapshot.view
        if isinstance(view, str):
            return view
        return PeerGroups.of(
            view, self.snapshot.services.values(), self.interpret
        )

    def _node(self, record: model.ComputeNode) -> model.Node | _Unknown:
        nodes = self.snapshot.nodes
        if isinstance(nodes, str):
            return _unknown(nodes)
        found = nodes.get(record.uuid)
        return found or _unknown('Ironic does not have the node')

    def _owner_registered(self, record: model.ComputeNode) -> str | None:
        row = self.snapshot.services.get(record.host or '')
        if row is None or not row.never_registered:
            return None
        return f'{record.host} has never registered: it may not use a guard'

    def _node_exists(self, record: model.ComputeNode) -> str | None:
        nodes = self.snapshot.nodes
        if isinstance(nodes, str):
            return _unknown(nodes)
        if nodes.get(record.uuid) is not None:
            return None
        return 'Ironic answers 404 for its uuid'

    def _no_instance(self, record: model.ComputeNode) -> str | None:
        running = self.snapshot.instances.get(record.uuid)
        if running:
            return f'the record has {", ".join(running)}'
        node = self._node(record)
        if isinstance(node, str):
            return node
        if node.instance_uuid is None:
            return None
        return f'Ironic has the instance {node.instance_uuid} on it'

    def _no_operation(self, record: model.ComputeNode) -> str | None:
        node = self._node(record)
        return node if isinstance(node, str) else operation_on(node)

    def _not_given_back(self, record: model.ComputeNode) -> str | None:
        try:
            taker = self.next_owner(record)
        except exceptions.OwnershipError as exc:
            return _unknown(exc)
        if taker is None or taker != record.host:
            return None
        return f'its policies give it back to {taker}'


def _is_decided_with_others(node: model.Node, groups: PeerGroups) -> bool:
    admitting = [g for g in groups.groups if g.policies.admits(node)]
    assigners = [group.policies.assigner for group in admitting]
    return any(one is not None and not one.node_by_node for one in assigners)


def missing(uuid: str) -> tuple[GateResult, ...]:
    """Return the result for a node without a record."""
    detail = 'no compute node is on record for it'
    return (_result(Gate.RECORD_EXISTS, model.ComputeNode(uuid), detail),)


def _unknown(reason: object) -> _Unknown:
    text = str(reason)
    prefix = 'cannot be evaluated: '
    return _Unknown(text if text.startswith(prefix) else prefix + text)


def _result(
    gate: Gate, record: model.ComputeNode, detail: str | None
) -> GateResult:
    if detail is None:
        return GateResult(gate, Outcome.PASSED)
    hint = HINTS[gate].format(uuid=record.uuid, owner=record.host)
    if isinstance(detail, _Unknown):
        if gate is not Gate.NOT_GIVEN_BACK:
            hint = UNKNOWN_HINT
        return GateResult(gate, Outcome.UNKNOWN, detail, hint=hint)
    return GateResult(gate, Outcome.FAILED, detail, hint=hint)
