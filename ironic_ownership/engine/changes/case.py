"""Nodes that are to change their owner: facts, and the proposal. Pure."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import Move, NodeMove, NodeState, Trial
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups, tolerant
from ironic_ownership.engine.gates import Found, GateResult, unknown


@dataclasses.dataclass(frozen=True)
class ChangeSnapshot:
    """Everything from which the gates are evaluated.

    :param services: by host.
    :param view: the members, or why they are unknown.
    :param records: compute nodes by uuid.
    :param instances: running instances on record, by the node's uuid.
    :param nodes: Ironic's nodes by uuid, ``None`` for those that Ironic does
        not have; or why they are unknown.
    :param objections: of the cell to a move, by uuid.
    """

    services: Mapping[str, model.Service]
    view: model.View | str
    records: Mapping[str, model.ComputeNode]
    instances: Mapping[str, Sequence[str]]
    nodes: Mapping[str, model.Node | None] | str
    objections: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class OwnerChange:
    """A change of owner of some nodes.

    :param destination: canonical name of the service that gets the nodes;
        ``None`` releases them, and their policies choose it.
    :param overrides: codes of the gates that the operator overrides.
    :param automatic: whether a standing order makes the change.
    :param shard: that the nodes get in Ironic, if they get one.
    """

    destination: str | None
    snapshot: ChangeSnapshot
    interpret: policy_set.Interpreter
    overrides: Collection[str] = ()
    automatic: bool = False
    shard: str | None = None

    @functools.cached_property
    def policies(self) -> policy_set.PolicySet | None:
        """The policies of the destination, if they are known."""
        view, host = self.snapshot.view, str(self.destination)
        member = None if isinstance(view, str) else view.get(host)
        known = member or self.snapshot.services.get(host)
        return self.interpret(known.settings) if known else None

    @functools.cached_property
    def unaware(self) -> Sequence[str]:
        """The live services of release 1.0: they claim nodes that are held."""
        view = self.snapshot.view
        return [
            one.host
            for one in (() if isinstance(view, str) else view.members)
            if one.settings.permission_lifetime is None
        ]

    @functools.cached_property
    def peer_groups(self) -> PeerGroups:
        """The peers of all members.

        :raises OwnershipError: if they are unknown.
        """
        view, services = self.snapshot.view, self.snapshot.services
        if isinstance(view, str):
            raise exceptions.OwnershipError(view)
        return PeerGroups.of(
            view, services.values(), self.interpret, tolerant()
        )


class Case:
    """One node of a change.

    :ivar record: its compute node, if there is one.
    :ivar source: the owner on record; its epoch is ``epoch``.
    :ivar recorded: the instance of the record.
    :ivar running: all running instances on record.
    :ivar known_node: as Ironic has it, and with the shard that it gets;
        ``None`` if that is unknown.
    :ivar shard_before: in Ironic.
    :ivar instance_uuid: the instance that moves with the node.
    """

    def __init__(self, change: OwnerChange, uuid: str) -> None:
        self.change = change
        self.uuid = uuid
        self.snapshot = snapshot = change.snapshot
        self.destination = change.destination
        self.record = record = snapshot.records.get(uuid)
        self.source = record.host if record else None
        owner = snapshot.services.get(self.source or '')
        self.epoch = owner.epoch if owner else None
        self.recorded = record.instance_uuid if record else None
        self.running = snapshot.instances.get(uuid, ())
        nodes = snapshot.nodes
        found = None if isinstance(nodes, str) else nodes.get(uuid)
        self.shard_before = found.shard if found else None
        if found and change.shard is not None:
            found = dataclasses.replace(found, shard=change.shard)
        self.known_node = found

        # Ironic's if the cell has it: its owner may have stopped too early.
        self.instance_uuid = (
            found.instance_uuid
            if found and found.instance_uuid in self.running
            else self.recorded or next(iter(self.running), None)
        )

    @property
    def node(self) -> model.Node:
        """The node as Ironic has it.

        :raises OwnershipError: if that is unknown.
        """
        if self.known_node is not None:
            return self.known_node
        nodes = self.snapshot.nodes
        raise exceptions.OwnershipError(
            nodes
            if isinstance(nodes, str)
            else 'Ironic does not have the node'
        )

    @property
    def verb(self) -> str:
        """The word for the change."""
        return 'release' if self.destination is None else 'move'

    @property
    def source_runs(self) -> Found | str | None:
        """The reason why the source may still act or write, if it may."""
        source, view = str(self.source), self.snapshot.view
        service = self.snapshot.services.get(source)
        ordered = self.change.automatic
        if ordered and not (service and service.order_due):
            return f'no standing order of {source} is due'
        if service is not None and service.forced_down:
            return None
        if isinstance(view, str):
            return unknown(f'{source} is not forced down: {view}')
        alive = view.get(source) is not None
        if service is None:
            # Without a row no process of it may act or write.
            what = f'{source} is not registered, and alive: it will register'
            return what if alive else None
        alive = alive or service.is_stock
        if not alive and (service.disabled or ordered):
            return None
        if not alive:
            return (
                f'{source} is not alive, but neither disabled nor forced down'
            )
        state = 'disabled' if service.disabled else 'enabled'
        return f'{source} is alive, {state} and not forced down'

    @property
    def unbounded(self) -> str | None:
        """The reason why the source's permissions may outlast a hand-over.

        Release 1.0 does not say when its own end, and claims a node while it
        is held until those of another end.
        """
        service = self.snapshot.services.get(self.source or '')
        if service is None:
            return None
        if service.settings.permission_lifetime is None:
            return (
                f'the release of {service.host} does not advertise how long '
                'its permissions last'
            )
        if not self.change.unaware:
            return None
        return (
            f'the release of {", ".join(self.change.unaware)} does not wait '
            'until the permissions of another service have ended'
        )

    @property
    def can_be_released(self) -> bool:
        """True if the node is free, and both services are alive."""
        view, node = self.snapshot.view, self.known_node
        return (
            not isinstance(view, str)
            and self.source in self.snapshot.services
            and view.get(str(self.source)) is not None
            and view.get(str(self.destination)) is not None
            and node is not None
            and node.instance_uuid is None
            and not self.running
        )

    @property
    def hands_over(self) -> bool:
        """True if a live source has to release the node first."""
        return self.can_be_released and self.source_runs is not None


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedNode:
    """One node of a proposal.

    :param gates: in the order of ``gates.MOVE``; empty for a node that the
        destination owns already.
    :param hands_over: whether its source has to release it first.
    :param destination: empty if there is none.
    :param shard_before: in Ironic, if that is known.
    :param shard_after: the one that the move sets.
    """

    node: NodeMove
    name: str | None = None
    gates: tuple[GateResult, ...] = ()
    hands_over: bool = False
    destination: str = ''
    request_id: str = ''
    shard_before: str | None = None
    shard_after: str | None = None

    def as_planned_before(self, before: NodeMove) -> PlannedNode:
        """Keep the source from which a stored move was to take the node.

        If the source has changed since, the transaction of its batch refuses
        the node, and its gates are not shown.
        """
        node = dataclasses.replace(self.node, trial=before.trial)
        same = node.source == before.source
        # From another source, the transaction refuses the node by itself.
        if same and node.state is NodeState.REFUSED:
            return dataclasses.replace(self, node=node)
        return dataclasses.replace(
            self,
            node=dataclasses.replace(
                node, source=before.source, state=NodeState.PLANNED
            ),
            gates=self.gates if same else (),
            # Perhaps this move has released it before it was interrupted.
            hands_over=self.hands_over if same else node.source is None,
        )


def stored_nodes(order: Move, nodes: Sequence[NodeMove]) -> list[PlannedNode]:
    """Return stored nodes whose gates are not evaluated again."""
    to, request_id = order.destination, order.request_id
    return [
        PlannedNode(
            dataclasses.replace(node, source=to),
            destination=node.source or '',
            request_id=request_id,
        )
        if node.trial is Trial.BACK
        else PlannedNode(node, destination=to, request_id=request_id)
        for node in nodes
    ]


@dataclasses.dataclass(frozen=True)
class Proposal:
    """A move, before and after it is carried out.

    :param order: as the operator requests it.
    :param resumed: whether it is the rest of a stored move.
    :param findings: one sentence for each difference found afterwards.
    :param has_trial: whether some nodes are to move first, and be verified.
    """

    order: Move
    nodes: Sequence[PlannedNode]
    resumed: bool = False
    findings: Sequence[str] = ()
    has_trial: bool = False

    def count(self, state: NodeState) -> int:
        """Return the number of nodes in a state."""
        return len(self._in(state))

    def _in(self, state: NodeState) -> list[PlannedNode]:
        return [n for n in self.nodes if n.node.state is state]

    @property
    def refused(self) -> Sequence[PlannedNode]:
        """The nodes that a gate refuses."""
        return self._in(NodeState.REFUSED)

    @property
    def planned(self) -> Sequence[NodeMove]:
        """The nodes to move, or that remain if it was interrupted."""
        return [n.node for n in self._in(NodeState.PLANNED)]

    @property
    def moved(self) -> Sequence[NodeMove]:
        """The nodes that have another owner now."""
        return [n.node for n in self._in(NodeState.MOVED)]

    @property
    def trial(self) -> Sequence[NodeMove]:
        """The nodes of its trial, which others follow; or go back."""
        return [n.node for n in self.nodes if n.node.trial is not None]

    @property
    def goes_back(self) -> bool:
        """True if its trial has failed, and was interrupted then."""
        return any(
            n.trial is Trial.BACK and n.state is NodeState.PLANNED
            for n in self.trial
        )

    def with_trial(self, number: int) -> Proposal:
        """Return it with its first nodes to move as a trial.

        Without those of which a move with a shard changes nothing but that.
        """
        same = (None, self.order.destination) if self.order.shard else ()
        changing = [n for n in self.planned if n.source not in same]
        first = {
            node.uuid: dataclasses.replace(node, trial=Trial.FIRST)
            for node in changing[:number]
        }
        return dataclasses.replace(
            self.with_results(first), has_trial=bool(first)
        )

    @property
    def of_trial(self) -> Proposal:
        """Only the nodes of its trial."""
        nodes = [n for n in self.nodes if n.node.trial is not None]
        return dataclasses.replace(self, nodes=nodes)

    def with_results(self, done: Mapping[str, NodeMove]) -> Proposal:
        """Return it with the results of nodes, by uuid."""
        nodes = [
            dataclasses.replace(n, node=done.get(n.node.uuid, n.node))
            for n in self.nodes
        ]
        return dataclasses.replace(self, nodes=nodes)

    # Each batch of a move asks for the next two, of all of its nodes.
    @functools.cached_property
    def handed_over(self) -> frozenset[str]:
        """Uuids of the nodes that a live source has to release first."""
        return frozenset(n.node.uuid for n in self.nodes if n.hands_over)

    @functools.cached_property
    def resharded(self) -> frozenset[str]:
        """Uuids of the nodes whose shard the move sets."""
        shard = self.order.shard
        return frozenset(
            n.node.uuid for n in self.nodes if n.shard_before != shard
        )
