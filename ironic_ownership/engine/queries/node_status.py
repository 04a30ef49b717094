"""Status of compute nodes: Ironic's node, record, decision, availability.

Pure. The CLI, the HTTP API, ``check`` and the metrics all show this status.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.availability import Evaluation, Unavailable
from ironic_ownership.contracts.decision import Decision
from ironic_ownership.contracts.described import DescribedEnum
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import (
    BATCH,
    OnFault,
    PeerGroups,
)

T = TypeVar('T')


def tolerant() -> OnFault:
    """Return what goes on without the policies that fail, for one query.

    The nodes that may belong to their services are undecided.
    """
    # Imported where it is called: a list of services does without it.
    from oslo_log import log

    known: set[tuple[str, ...]] = set()

    def tolerate(
        hosts: Collection[str], error: exceptions.PluginFaultError
    ) -> None:
        which = tuple(sorted(hosts))
        if which not in known:
            known.add(which)
            log.getLogger(__name__).warning(
                'the policies of %s fail: %s', ', '.join(which), error
            )

    return tolerate


class State(DescribedEnum):
    """Ownership state of a compute node, the most alarming first."""

    ORPHAN = 'orphan', 'has a record, but Ironic answers 404 for its uuid'
    CONTESTED = 'contested', 'live services disagree about it'
    UNOWNED = 'unowned', 'in Ironic, and no service owns it'
    FILTERED = (
        'filtered',
        'its owner keeps it, although its policies no longer admit it',
    )
    OWNED = 'owned', 'a service owns it, and its policies admit it'


class Availability(DescribedEnum):
    """Availability of a compute node for scheduling."""

    AVAILABLE = 'available', 'new instances can be scheduled to it'
    UNAVAILABLE = (
        'unavailable',
        'nothing can be scheduled to it; "unavailable" has the reason',
    )
    OUT_OF_SERVICE = (
        'out-of-service',
        'no live conductor of its conductor group has its driver',
    )


@dataclasses.dataclass(frozen=True, slots=True)
class NodeStatus:
    """One compute node: Ironic's node, the record and the decision.

    :param owner_alive: whether the owner on record is alive; ``None`` while
        the node is unowned.
    :param availability: ``None`` for a node that Ironic does not have.
    """

    uuid: str
    state: State
    node: model.Node | None
    record: model.ComputeNode | None
    decision: Decision | None
    owner_alive: bool | None
    availability: Evaluation | None = None

    @property
    def owner(self) -> str | None:
        """The service on record."""
        return self.record.host if self.record else None

    @property
    def reason(self) -> Reason:
        """The reason of the decision, or why there is none."""
        if self.decision is not None:
            return self.decision.reason
        recorded = self.record.reason if self.record else None
        is_begun = recorded is Reason.BEING_DELETED
        return Reason.BEING_DELETED if is_begun else Reason.NODE_GONE

    @property
    def name(self) -> str | None:
        """The name: Ironic's, else the recorded one."""
        known = self.node or self.record
        return known.name if known else None

    def is_in(self, states: Collection[str]) -> bool:
        """Tell whether any :class:`State` or :class:`Availability` fits."""
        found = {str(self.state)}
        if self.availability is not None:
            code = self.availability.code
            found.add(
                Availability.UNAVAILABLE if code else Availability.AVAILABLE
            )
            if code is Unavailable.OUT_OF_SERVICE:
                found.add(Availability.OUT_OF_SERVICE)
        return not found.isdisjoint(states)


def evaluate(
    nodes: Iterable[model.Node],
    records: Iterable[model.ComputeNode],
    peer_groups: PeerGroups,
    fleet: evaluation.Fleet | None = None,
) -> list[NodeStatus]:
    """Return the status of every node and every record.

    :param records: one whose node is not among ``nodes`` is an orphan.
    :returns: in the order of names, then uuids.
    """
    deployment = Deployment(
        {node.uuid: node for node in nodes},
        {record.uuid: record for record in records},
        peer_groups,
        fleet,
    )
    statuses = deployment.statuses(deployment.uuids())
    return sorted(statuses, key=lambda s: (s.name or '', s.uuid))


@dataclasses.dataclass(frozen=True)
class Deployment:
    """Nodes and records from which the status of each node follows.

    Only those whose status is asked for are decided, but all at once where a
    decision may depend on other nodes, and for policies of other packages.

    :param records: one whose node is not among ``nodes`` is an orphan.
    """

    nodes: Mapping[str, model.Node]
    records: Mapping[str, model.ComputeNode]
    peer_groups: PeerGroups
    fleet: evaluation.Fleet | None = None

    def uuids(self) -> Set[str]:
        """Return the uuids of all nodes and records."""
        return self.nodes.keys() | self.records.keys()

    def statuses(
        self, uuids: Iterable[str], size: int = BATCH
    ) -> Iterator[NodeStatus]:
        """Yield the status of these nodes and records, in their order.

        :param size: number of nodes that are in use at a time.
        :raises PluginFaultError: if a policy fails, unless the peer groups
            tolerate it.
        """
        rest = iter(uuids)
        while some := list(itertools.islice(rest, size)):
            nodes, records = _some(self.nodes, some), _some(self.records, some)
            decisions = self._decided
            if decisions is None:
                decisions = decide.decide(
                    nodes.values(), records, self.peer_groups
                )
            for uuid in some:
                yield _status(
                    uuid,
                    nodes.get(uuid),
                    records.get(uuid),
                    decisions,
                    self.peer_groups,
                    self.fleet,
                )

    @functools.cached_property
    def _decided(self) -> decide.Decisions | None:
        """All decisions, where they are made at once."""
        if self.peer_groups.divisible:
            return None
        return decide.decide(
            self.nodes.values(), self.records, self.peer_groups
        )


def _some(found: Mapping[str, T], uuids: Iterable[str]) -> dict[str, T]:
    pairs = ((uuid, found.get(uuid)) for uuid in uuids)
    return {uuid: one for uuid, one in pairs if one is not None}


def _status(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    decisions: Mapping[str, Decision],
    peer_groups: PeerGroups,
    fleet: evaluation.Fleet | None,
) -> NodeStatus:
    decision = decisions.get(uuid)
    owner = record.host if record else None
    return NodeStatus(
        uuid,
        _state(node, owner, decision),
        node,
        record,
        decision,
        None if owner is None else owner in peer_groups.alive,
        evaluation.evaluate_for_observer(node, record, fleet)
        if node
        else None,
    )


def _state(
    node: model.Node | None,
    owner: str | None,
    decision: Decision | None,
) -> State:
    if node is None or decision is None:
        return State.ORPHAN
    if decision.contest is not None:
        return State.CONTESTED
    if owner is None:
        return State.UNOWNED
    return State.FILTERED if decision.filtered else State.OWNED
