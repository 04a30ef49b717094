"""Port to the moves: changes of owner by operators, on record.

A move is planned in one transaction and carried out in several. If the
process ends early, the rest can be read from here and resumed.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping


class NodeState(enum.StrEnum):
    """The result of one node of a move."""

    PLANNED = 'planned'
    """The node is still to be moved."""

    MOVED = 'moved'
    """The destination owns it, and its instance."""

    UNCHANGED = 'unchanged'
    """The destination owned it already."""

    REFUSED = 'refused'
    """It keeps its owner: a gate failed, or it changed meanwhile."""


class Trial(enum.StrEnum):
    """The part of a node in the trial of a move."""

    FIRST = 'first'
    """It moves before the others, and is verified."""

    PASSED = 'passed'
    """It has moved, and the trial has passed."""

    BACK = 'back'
    """The trial failed: the node goes back to its source."""


class MoveState(enum.StrEnum):
    """The progress of a move."""

    UNFINISHED = 'unfinished'
    """Nodes are still planned: it runs, or can be resumed."""

    DONE = 'done'
    """Every node has its result."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMove:
    """One node of a move: its state at the time of the gates, its result.

    :param source: owner on record; ``None`` if it is unowned.
    :param instance_uuid: open instance on record.
    :param detail: the reason of a refusal, or the overridden gates.
    :param trial: its part in a trial; ``None`` for the other nodes.
    """

    uuid: str
    source: str | None
    source_epoch: int | None = None
    instance_uuid: str | None = None
    state: NodeState = NodeState.PLANNED
    detail: str | None = None
    trial: Trial | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A change of owner for some nodes, as requested by an operator.

    :param request_id: ``req-`` and a uuid; also in the logs.
    :param destination: canonical name of the service that gets the nodes.
    :param actor: user and place.
    :param overrides: codes of the gates that were overridden.
    :param shard: that its nodes get in Ironic before they change owner;
        ``None`` if the move leaves Ironic alone.
    :param created_at: seconds since the epoch, by the database's clock;
        ``None`` before it is stored.
    :param counts: number of nodes in each state; empty before it is stored.
    :param on_trial: number of those that have moved and are to be verified.
    :param automatic: whether a service makes it, by a standing order of an
        operator; its actor is that service.
    """

    request_id: str
    destination: str
    actor: str
    reason: str | None = None
    overrides: tuple[str, ...] = ()
    shard: str | None = None
    created_at: float | None = None
    counts: Mapping[NodeState, int] = dataclasses.field(default_factory=dict)
    on_trial: int = 0
    automatic: bool = False

    @property
    def state(self) -> MoveState:
        """The progress, from the states of the nodes."""
        left = self.counts.get(NodeState.PLANNED, 0) + self.on_trial
        return MoveState.UNFINISHED if left else MoveState.DONE


@dataclasses.dataclass(frozen=True, slots=True)
class HandOver:
    """A request that releases free nodes of services that may be alive.

    :param request_id: as that of a move; the nodes are held for it.
    :param longest: seconds after which any service may own the nodes although
        the release was not ended, by the database's clock: time to list many
        nodes, after that for which permissions last.
    :param deployed: whether nodes with an instance, as they were seen, are
        released as well: a trial takes them back.
    """

    request_id: str
    actor: str
    longest: float = 120.0
    reason: str | None = None
    deployed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class StandingOrder:
    """An operator's order to take deployed nodes over from a service.

    :param after: seconds for which the service has to be fenced before.
    :param to: canonical name of the service that gets the nodes; ``None``
        leaves that to their policies.
    """

    after: int
    actor: str
    reason: str
    to: str | None = None
