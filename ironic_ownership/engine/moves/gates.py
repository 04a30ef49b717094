"""The gates of a move: named checks, all of them judged for every node.

Pure: judges one moment that somebody else has read. What can't be judged has
failed. The codes are public interface, as the operator overrides by them and
scripts read them.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.decision import policy_set


class Gate(enum.StrEnum):
    """One named check."""

    RECORD_EXISTS = 'record_exists'
    """The node has a compute node."""

    SOURCE_STOPPED = 'source_stopped'
    """Its owner is forced down, or disabled and not alive."""

    NOT_SAME_SERVICE = 'not_same_service'
    """The source is not the destination."""

    DESTINATION_EXISTS = 'destination_exists'
    """The destination is a registered service."""

    DESTINATION_ALIVE = 'destination_alive'
    """The membership sees the destination alive."""

    DESTINATION_ENABLED = 'destination_enabled'
    """The destination is neither disabled nor forced down."""

    DESTINATION_ADMITS = 'destination_admits'
    """The policies that the destination advertises admit the node."""

    NODE_EXISTS = 'node_exists'
    """Ironic has the node."""

    AT_MOST_ONE_INSTANCE = 'at_most_one_instance'
    """The records have at most one running instance on the node."""

    INSTANCE_AGREES = 'instance_agrees'
    """The instance on record is the one that Ironic names."""

    NO_OPERATION_IN_PROGRESS = 'no_operation_in_progress'
    """No conductor works on the node, and no change of state is under way."""


NEVER_OVERRIDDEN = frozenset(
    (
        Gate.RECORD_EXISTS,
        Gate.SOURCE_STOPPED,
        Gate.NOT_SAME_SERVICE,
        Gate.DESTINATION_EXISTS,
        Gate.AT_MOST_ONE_INSTANCE,
    )
)
OVERRIDABLE = tuple(gate for gate in Gate if gate not in NEVER_OVERRIDDEN)


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """One gate that a node does not pass.

    :param detail: what was seen instead, for the operator.
    :param overridden: whether the operator moves the node all the same.
    """

    gate: Gate
    detail: str
    overridden: bool = False


@dataclasses.dataclass(frozen=True)
class Moment:
    """What gates are judged from.

    :param services: by host.
    :param view: the members, or why they are not known.
    :param records: compute nodes by uuid.
    :param instances: running instances on record, by the node's uuid.
    :param nodes: Ironic's nodes by uuid, ``None`` for those that Ironic does
        not have; or why they are not known.
    """

    services: Mapping[str, model.Service]
    view: model.View | str
    records: Mapping[str, model.ComputeNode]
    instances: Mapping[str, Sequence[str]]
    nodes: Mapping[str, model.Node | None] | str


class Gates:
    """The gates of one move at one moment.

    :param destination: canonical name of the service that gets the nodes.
    :param overrides: gates that the operator overrides.
    """

    def __init__(
        self,
        destination: str,
        moment: Moment,
        interpret: policy_set.Interpreter,
        overrides: frozenset[Gate] = frozenset(),
    ) -> None:
        self._destination = destination
        self._moment = moment
        self._interpret = interpret
        self._overrides = overrides - NEVER_OVERRIDDEN
        self._stopped: dict[str, str | None] = {}
        # What is the same for every node is judged once.
        self._checks: tuple[tuple[Gate, Callable[[str], str | None]], ...] = (
            (Gate.RECORD_EXISTS, self._record_exists),
            (Gate.SOURCE_STOPPED, self._source_stopped),
            (Gate.NOT_SAME_SERVICE, self._not_same_service),
            (Gate.DESTINATION_EXISTS, self._once(self._destination_exists())),
            (Gate.DESTINATION_ALIVE, self._once(self._destination_alive())),
            (
                Gate.DESTINATION_ENABLED,
                self._once(self._destination_enabled()),
            ),
            (Gate.DESTINATION_ADMITS, self._destination_admits),
            (Gate.NODE_EXISTS, self._node_exists),
            (Gate.AT_MOST_ONE_INSTANCE, self._at_most_one_instance),
            (Gate.INSTANCE_AGREES, self._instance_agrees),
            (Gate.NO_OPERATION_IN_PROGRESS, self._no_operation),
        )

    def failures(self, uuid: str) -> tuple[Failure, ...]:
        """Judge every gate for one node.

        :returns: those that failed, in the order of :class:`Gate`; none
            means that the node may be moved.
        """
        return tuple(
            Failure(gate, detail, gate in self._overrides)
            for gate, check in self._checks
            if (detail := check(uuid)) is not None
        )

    @staticmethod
    def _once(detail: str | None) -> Callable[[str], str | None]:
        return lambda uuid: detail

    def _record_exists(self, uuid: str) -> str | None:
        if uuid in self._moment.records:
            return None
        return 'no compute node is on record for it'

    def _source(self, uuid: str) -> str | None:
        record = self._moment.records.get(uuid)
        return record.host if record else None

    def _source_stopped(self, uuid: str) -> str | None:
        if uuid not in self._moment.records:
            return 'cannot be judged without a record'
        source = self._source(uuid)
        if source is None:
            # Nobody owns it, so nobody has to be stopped.
            return None
        if source not in self._stopped:
            self._stopped[source] = self._is_stopped(source)
        return self._stopped[source]

    def _is_stopped(self, source: str) -> str | None:
        service = self._moment.services.get(source)
        if service is None:
            return f'{source} is not registered: cannot be judged'
        if service.forced_down:
            return None
        view = self._moment.view
        if isinstance(view, str):
            return (
                f'{source} is not forced down, and whether it is alive '
                f'cannot be judged: {view}'
            )
        alive = view.get(source) is not None
        if not alive and service.disabled:
            return None
        return (
            f'{source} is {"alive" if alive else "not alive"}, '
            f'{"disabled" if service.disabled else "enabled"} and not '
            'forced down'
        )

    def _not_same_service(self, uuid: str) -> str | None:
        if self._source(uuid) != self._destination:
            return None
        return f'{self._destination} owns it already'

    def _destination_exists(self) -> str | None:
        if self._destination in self._moment.services:
            return None
        return f'{self._destination} is not registered'

    def _destination_alive(self) -> str | None:
        view = self._moment.view
        if isinstance(view, str):
            return f'cannot be judged: {view}'
        if view.get(self._destination) is not None:
            return None
        return f'{self._destination} is not a member'

    def _destination_enabled(self) -> str | None:
        service = self._moment.services.get(self._destination)
        if service is None:
            return f'cannot be judged: {self._destination} is not registered'
        if service.forced_down:
            return f'{self._destination} is forced down'
        if service.disabled:
            return f'{self._destination} is disabled'
        return None

    @functools.cached_property
    def _policies(self) -> policy_set.PolicySet | None:
        view = self._moment.view
        member = None
        if not isinstance(view, str):
            member = view.get(self._destination)
        service = self._moment.services.get(self._destination)
        known = member or service
        return self._interpret(known.settings) if known else None

    def _destination_admits(self, uuid: str) -> str | None:
        node = self._node(uuid)
        if isinstance(node, str):
            return node
        if self._policies is None:
            return (
                f'cannot be judged: the policies of {self._destination} are '
                'not known here'
            )
        try:
            admitted = self._policies.admits(node)
        except exceptions.PluginFaultError as exc:
            return f'cannot be judged: {exc}'
        if admitted:
            return None
        return (
            f'{self._destination} does not admit it: shard '
            f'{node.shard or "none"}, conductor group '
            f'{node.conductor_group or "default"}'
        )

    def _node(self, uuid: str) -> model.Node | str:
        """Return Ironic's node, or why nothing can be judged from it."""
        nodes = self._moment.nodes
        if isinstance(nodes, str):
            return f'cannot be judged: {nodes}'
        node = nodes.get(uuid)
        return node or 'cannot be judged: Ironic does not have the node'

    def _node_exists(self, uuid: str) -> str | None:
        nodes = self._moment.nodes
        if isinstance(nodes, str):
            return f'cannot be judged: {nodes}'
        if nodes.get(uuid) is not None:
            return None
        return 'Ironic answers 404 for its uuid'

    def _at_most_one_instance(self, uuid: str) -> str | None:
        running = self._moment.instances.get(uuid, ())
        if len(running) <= 1:
            return None
        return f'{len(running)} instances are on record: {", ".join(running)}'

    def _instance_agrees(self, uuid: str) -> str | None:
        node = self._node(uuid)
        if isinstance(node, str):
            return node
        record = self._moment.records.get(uuid)
        if record is None:
            return 'cannot be judged without a record'
        if record.instance_uuid == node.instance_uuid:
            return None
        return (
            f'the record says {record.instance_uuid or "none"}, Ironic '
            f'{node.instance_uuid or "none"}'
        )

    def _no_operation(self, uuid: str) -> str | None:
        node = self._node(uuid)
        if isinstance(node, str):
            return node
        if node.reservation:
            return f'conductor {node.reservation} works on it'
        if node.target_power_state:
            return f'its power is on the way to {node.target_power_state}'
        if node.target_provision_state and not _has_failed(node):
            return (
                f'it is {node.provision_state}, on the way to '
                f'{node.target_provision_state}'
            )
        return None


def _has_failed(node: model.Node) -> bool:
    """Tell whether Ironic has given up: it keeps the target nevertheless."""
    state = node.provision_state or ''
    return state == 'error' or state.endswith('failed')
