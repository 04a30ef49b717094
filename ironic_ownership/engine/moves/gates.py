"""The gates of a move: named checks, all evaluated for every node.

Pure: evaluates a snapshot. The codes are public interface: operators override
gates by their codes, and scripts read them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.described import DescribedEnum
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.gates import UNKNOWN_HINT, GateResult, Outcome


class Gate(DescribedEnum):
    """One named check."""

    RECORD_EXISTS = 'record_exists', 'the node has a compute node on record'
    IS_IRONIC = 'is_ironic', 'its row in the cell is of the type ironic'
    SOURCE_STOPPED = (
        'source_stopped',
        'its owner has stopped, or is none, or can release the node',
    )
    NOT_SAME_SERVICE = 'not_same_service', 'its owner is not the destination'
    DESTINATION_EXISTS = (
        'destination_exists',
        'the destination is a registered service',
    )
    DESTINATION_ALIVE = 'destination_alive', 'the destination is a member'
    DESTINATION_ENABLED = (
        'destination_enabled',
        'it is neither disabled nor forced down',
    )
    DESTINATION_ADMITS = 'destination_admits', 'its policies admit the node'
    NODE_EXISTS = 'node_exists', 'Ironic has the node'
    AT_MOST_ONE_INSTANCE = (
        'at_most_one_instance',
        'at most one instance is on record',
    )
    INSTANCE_AGREES = 'instance_agrees', 'it is the instance in Ironic'
    NO_OPERATION_IN_PROGRESS = (
        'no_operation_in_progress',
        'no conductor has reserved the node',
    )


NEVER_OVERRIDDEN = frozenset(
    (
        Gate.RECORD_EXISTS,
        Gate.IS_IRONIC,
        Gate.SOURCE_STOPPED,
        Gate.NOT_SAME_SERVICE,
        Gate.DESTINATION_EXISTS,
        Gate.AT_MOST_ONE_INSTANCE,
    )
)
OVERRIDABLE = tuple(gate for gate in Gate if gate not in NEVER_OVERRIDDEN)
_BY_CODE = {gate.value: gate for gate in Gate}


def from_codes(codes: Iterable[str]) -> frozenset[Gate]:
    """Return gates by their codes.

    :raises KeyError: if a code is unknown.
    """
    return frozenset(_BY_CODE[code] for code in codes)


HINTS: Mapping[Gate, str] = {
    Gate.RECORD_EXISTS: (
        'See which service claims it: ironic-ownership compute node explain '
        '{uuid}'
    ),
    Gate.IS_IRONIC: (
        'If it is a node of Ironic, correct its row in the cell: UPDATE '
        "compute_nodes SET hypervisor_type = 'ironic' WHERE uuid = '{uuid}'"
    ),
    Gate.SOURCE_STOPPED: (
        'Make sure that it has stopped, then: ironic-ownership service set '
        '{source} --down'
    ),
    Gate.NOT_SAME_SERVICE: 'Nothing to do',
    Gate.DESTINATION_EXISTS: (
        'Start ironic-ownership-host with [DEFAULT] host = {destination}, or '
        'name a service of "ironic-ownership service list"'
    ),
    Gate.DESTINATION_ALIVE: (
        'Start ironic-ownership-host with [DEFAULT] host = {destination}'
    ),
    Gate.DESTINATION_ENABLED: (
        'ironic-ownership service set {destination} --enable --up'
    ),
    Gate.DESTINATION_ADMITS: (
        'Name a service that admits it, see "ironic-ownership compute node '
        'explain {uuid}"; or change shard and conductor group of the node in '
        'Ironic'
    ),
    Gate.NODE_EXISTS: (
        'Do not move its record, delete it: ironic-ownership compute node '
        'delete {uuid}'
    ),
    Gate.AT_MOST_ONE_INSTANCE: (
        'Delete those that do not run on it, in the service that made them'
    ),
    Gate.INSTANCE_AGREES: (
        'A running owner records the instance of Ironic at its next refresh. '
        'Otherwise --override instance_agrees --reason TEXT: the destination '
        'records it'
    ),
    Gate.NO_OPERATION_IN_PROGRESS: 'Repeat the move after the operation',
}
"""The action for every gate that failed."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Everything from which the gates are evaluated.

    :param services: by host.
    :param view: the members, or why they are unknown.
    :param records: compute nodes by uuid.
    :param instances: running instances on record, by the node's uuid.
    :param nodes: Ironic's nodes by uuid, ``None`` for those that Ironic does
        not have; or why they are unknown.
    :param other_types: of nodes that are not Ironic's in the cell, by uuid.
    """

    services: Mapping[str, model.Service]
    view: model.View | str
    records: Mapping[str, model.ComputeNode]
    instances: Mapping[str, Sequence[str]]
    nodes: Mapping[str, model.Node | None] | str
    other_types: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Unknown(str):
    __slots__ = ()


def _unknown(reason: object) -> _Unknown:
    return _Unknown(f'cannot be evaluated: {reason}')


_PASSED = {gate: GateResult(gate, Outcome.PASSED) for gate in Gate}


class Gates:
    """The gates of one move, on one snapshot.

    :param destination: canonical name of the service that gets the nodes.
    :param overrides: gates that the operator overrides.
    """

    def __init__(
        self,
        destination: str,
        snapshot: Snapshot,
        interpret: policy_set.Interpreter,
        overrides: frozenset[Gate] = frozenset(),
    ) -> None:
        self._destination = destination
        self._snapshot = snapshot
        self._interpret = interpret
        self._overrides = overrides - NEVER_OVERRIDDEN
        self._stopped: dict[str, str | None] = {}
        # Results that are the same for every node are computed once.
        self._checks: tuple[tuple[Gate, Callable[[str], str | None]], ...] = (
            (Gate.RECORD_EXISTS, self._record_exists),
            (Gate.IS_IRONIC, self._is_ironic),
            (Gate.SOURCE_STOPPED, self._source_stopped),
            (Gate.NOT_SAME_SERVICE, self._not_same_service),
            (Gate.DESTINATION_EXISTS, _once(self._destination_exists())),
            (Gate.DESTINATION_ALIVE, _once(self._destination_alive())),
            (Gate.DESTINATION_ENABLED, _once(self._destination_enabled())),
            (Gate.DESTINATION_ADMITS, self._destination_admits),
            (Gate.NODE_EXISTS, self._node_exists),
            (Gate.AT_MOST_ONE_INSTANCE, self._at_most_one_instance),
            (Gate.INSTANCE_AGREES, self._instance_agrees),
            (Gate.NO_OPERATION_IN_PROGRESS, self._no_operation),
        )

    def evaluate(self, uuid: str) -> tuple[GateResult, ...]:
        """Return the result of every gate for one node."""
        return tuple(
            self._result(uuid, gate, check(uuid))
            for gate, check in self._checks
        )

    def _result(self, uuid: str, gate: Gate, detail: str | None) -> GateResult:
        if detail is None:
            return _PASSED[gate]
        if gate in self._overrides:
            return GateResult(gate, Outcome.OVERRIDDEN, detail)
        if isinstance(detail, _Unknown):
            return GateResult(gate, Outcome.UNKNOWN, detail, hint=UNKNOWN_HINT)
        hint = HINTS[gate].format(
            uuid=uuid,
            source=self._source(uuid),
            destination=self._destination,
        )
        return GateResult(gate, Outcome.FAILED, detail, hint=hint)

    def _record_exists(self, uuid: str) -> str | None:
        if uuid in self._snapshot.records:
            return None
        return 'no compute node is on record for it'

    def _is_ironic(self, uuid: str) -> str | None:
        other = self._snapshot.other_types.get(uuid)
        return other and f'its hypervisor type in the cell is {other}'

    def _source(self, uuid: str) -> str | None:
        record = self._snapshot.records.get(uuid)
        return record.host if record else None

    def _source_stopped(self, uuid: str) -> str | None:
        if uuid not in self._snapshot.records:
            return _unknown('no compute node is on record')
        source = self._source(uuid)
        if source is None:
            # An unowned node has no source to stop.
            return None
        if source not in self._stopped:
            self._stopped[source] = self._is_stopped(source)
        if self._stopped[source] and self._is_released_by(source, uuid):
            return None
        return self._stopped[source]

    def hands_over(self, uuid: str) -> bool:
        """Tell whether a live source has to release the node first."""
        source = self._source(uuid)
        return (
            source is not None
            and self._source_stopped(uuid) is None
            and self._stopped[source] is not None
        )

    def _is_released_by(self, source: str, uuid: str) -> bool:
        """Tell whether a node is free, and both services are alive."""
        view, node = self._snapshot.view, self._node(uuid)
        return (
            not isinstance(view, str)
            and source in self._snapshot.services
            and view.get(source) is not None
            and view.get(self._destination) is not None
            and not isinstance(node, str)
            and node.instance_uuid is None
            and not self._snapshot.instances.get(uuid)
        )

    def _is_stopped(self, source: str) -> str | None:
        service = self._snapshot.services.get(source)
        if service is not None and service.forced_down:
            return None
        view = self._snapshot.view
        if isinstance(view, str):
            return _unknown(f'{source} is not forced down: {view}')
        alive = view.get(source) is not None
        if service is None:
            # Without a row no process of it may act or write.
            what = f'{source} is not registered, and alive: it will register'
            return what if alive else None
        alive = alive or service.is_stock
        if not alive and service.disabled:
            return None
        return (
            f'{source} is {"alive" if alive else "not alive"}, '
            f'{"disabled" if service.disabled else "enabled"} and not '
            'forced down'
        )

    def _not_same_service(self, uuid: str) -> str | None:
        same = self._source(uuid) == self._destination
        return f'{self._destination} owns it already' if same else None

    def _destination_exists(self) -> str | None:
        known = self._destination in self._snapshot.services
        return None if known else f'{self._destination} is not registered'

    def _destination_alive(self) -> str | None:
        view, host = self._snapshot.view, self._destination
        if isinstance(view, str):
            return _unknown(view)
        return None if view.get(host) else f'{host} is not a member'

    def _destination_enabled(self) -> str | None:
        service = self._snapshot.services.get(self._destination)
        if service is None:
            return _unknown(f'{self._destination} is not registered')
        if service.forced_down:
            return f'{self._destination} is forced down'
        if service.disabled:
            return f'{self._destination} is disabled'
        return None

    @functools.cached_property
    def _policies(self) -> policy_set.PolicySet | None:
        view, host = self._snapshot.view, self._destination
        member = None if isinstance(view, str) else view.get(host)
        known = member or self._snapshot.services.get(host)
        return self._interpret(known.settings) if known else None

    def _destination_admits(self, uuid: str) -> str | None:
        node = self._node(uuid)
        if isinstance(node, str):
            return node
        if self._policies is None:
            return _unknown(f'the policies of {self._destination} are unknown')
        try:
            admitted = self._policies.admits(node)
        except exceptions.PluginFaultError as exc:
            return _unknown(exc)
        if admitted:
            return None
        return (
            f'{self._destination} does not admit it: shard '
            f'{node.shard or "none"}, conductor group '
            f'{node.conductor_group or "default"}'
        )

    def _node(self, uuid: str) -> model.Node | _Unknown:
        nodes = self._snapshot.nodes
        if isinstance(nodes, str):
            return _unknown(nodes)
        node = nodes.get(uuid)
        return node or _unknown('Ironic does not have the node')

    def _node_exists(self, uuid: str) -> str | None:
        nodes = self._snapshot.nodes
        if isinstance(nodes, str):
            return _unknown(nodes)
        found = nodes.get(uuid)
        return None if found else 'Ironic answers 404 for its uuid'

    def _at_most_one_instance(self, uuid: str) -> str | None:
        running = self._snapshot.instances.get(uuid, ())
        if {*running} <= {self.instance(uuid), self._recorded(uuid)}:
            return None
        return f'{len(running)} instances are on record: {", ".join(running)}'

    def _instance_agrees(self, uuid: str) -> str | None:
        node = self._node(uuid)
        if isinstance(node, str):
            return node
        if uuid not in self._snapshot.records:
            return _unknown('no compute node is on record')
        instance, found = self.instance(uuid), node.instance_uuid
        if instance == found:
            return None
        where = 'record' if instance == self._recorded(uuid) else 'cell'
        return (
            f'the {where} has {instance or "none"}, Ironic {found or "none"}'
        )

    def instance(self, uuid: str) -> str | None:
        """Return the instance that moves with a node.

        Ironic's if the cell has it: its owner may have stopped too early.
        """
        running = self._snapshot.instances.get(uuid, ())
        node = self._node(uuid)
        if not isinstance(node, str) and node.instance_uuid in running:
            return node.instance_uuid
        return self._recorded(uuid) or next(iter(running), None)

    def _recorded(self, uuid: str) -> str | None:
        record = self._snapshot.records.get(uuid)
        return record.instance_uuid if record else None

    def _no_operation(self, uuid: str) -> str | None:
        node = self._node(uuid)
        return node if isinstance(node, str) else operation_on(node)


def operation_on(node: model.Node) -> str | None:
    """Return the operation in progress on a node, in one line."""
    if node.reservation:
        return f'conductor {node.reservation} has reserved it'
    if node.target_power_state:
        return f'its power state changes to {node.target_power_state}'
    if node.target_provision_state and not _has_failed(node):
        return (
            f'its provision state changes from {node.provision_state} to '
            f'{node.target_provision_state}'
        )
    return None


def _once(detail: str | None) -> Callable[[str], str | None]:
    return lambda uuid: detail


def _has_failed(node: model.Node) -> bool:
    """Tell whether the operation has failed; Ironic keeps its target."""
    state = node.provision_state or ''
    return state == 'error' or state.endswith('failed')
