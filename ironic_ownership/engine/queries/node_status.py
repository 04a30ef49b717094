"""Status of compute nodes: Ironic's node, record, decision, availability.

Pure. The CLI, the HTTP API, ``check`` and the metrics all show this status.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import (
    Decision,
    Evaluation,
    Reason,
    Unavailable,
)
from ironic_ownership.contracts.texts import DescribedEnum
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups


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

    :param decision: without an owner for a node that Ironic does not have.
    :param owner_alive: whether the owner on record is alive; ``None`` while
        the node is unowned.
    :param availability: ``None`` for a node that Ironic does not have.
    """

    uuid: str
    state: State
    node: model.Node | None
    record: model.ComputeNode | None
    decision: Decision
    owner_alive: bool | None
    availability: Evaluation | None = None

    @property
    def owner(self) -> str | None:
        """The service on record."""
        return self.record.host if self.record else None

    @property
    def released_by(self) -> str | None:
        """The service that released it, while it is unowned."""
        return self.record.released_by if self.record else None

    @property
    def name(self) -> str | None:
        """The name: Ironic's, else the recorded one."""
        known = self.node or self.record
        return known.name if known else None

    @property
    def driver(self) -> str | None:
        """The driver: Ironic's, else the recorded one."""
        known = self.node or self.record
        return (known.driver if known else None) or None

    @property
    def place(self) -> tuple[str | None, str]:
        """Shard and conductor group: Ironic's, else the recorded ones."""
        known = self.node or self.record
        return (known.shard, known.conductor_group) if known else (None, '')

    @property
    def is_out_of_service(self) -> bool:
        """True if no live conductor supports it."""
        found = self.availability
        return found is not None and found.code is Unavailable.OUT_OF_SERVICE

    def is_in(self, states: Collection[str]) -> bool:
        """Tell whether any :class:`State` or :class:`Availability` fits."""
        found = {str(self.state)}
        if self.availability is not None:
            code = self.availability.code
            found.add(
                Availability.UNAVAILABLE if code else Availability.AVAILABLE
            )
            if self.is_out_of_service:
                found.add(Availability.OUT_OF_SERVICE)
        return not found.isdisjoint(states)


def of(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    decisions: decide.Decisions,
    peer_groups: PeerGroups,
    conductors: availability.Conductors | None,
) -> NodeStatus:
    """Return the status of a node, a record, or both."""
    decision = decisions.get(uuid) or _gone(record)
    owner = record.host if record else None
    return NodeStatus(
        uuid,
        _state(node, owner, decision),
        node,
        record,
        decision,
        None if owner is None else owner in peer_groups.alive,
        availability.evaluate_for_observer(node, record, conductors)
        if node
        else None,
    )


def _gone(record: model.ComputeNode | None) -> Decision:
    is_begun = record is not None and record.reason is Reason.BEING_DELETED
    return Decision(
        None, Reason.BEING_DELETED if is_begun else Reason.NODE_GONE
    )


def _state(
    node: model.Node | None, owner: str | None, decision: Decision
) -> State:
    if node is None:
        return State.ORPHAN
    if decision.contest is not None:
        return State.CONTESTED
    if owner is None:
        return State.UNOWNED
    return State.FILTERED if decision.filtered else State.OWNED
