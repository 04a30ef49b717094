"""Port to the moves: changes of owner by operators, on record.

A move is planned in one transaction and carried out in several. If the
process ends early, the rest can be read from here and resumed.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence


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
    """

    uuid: str
    source: str | None
    source_epoch: int | None = None
    instance_uuid: str | None = None
    state: NodeState = NodeState.PLANNED
    detail: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A change of owner for some nodes, as requested by an operator.

    :param request_id: ``req-`` and a uuid; also in the logs.
    :param destination: canonical name of the service that gets the nodes.
    :param actor: user and place.
    :param overrides: codes of the gates that were overridden.
    :param created_at: seconds since the epoch, by the database's clock;
        ``None`` before it is stored.
    :param counts: number of nodes in each state; empty before it is stored.
    """

    request_id: str
    destination: str
    actor: str
    reason: str | None = None
    overrides: tuple[str, ...] = ()
    created_at: float | None = None
    counts: Mapping[NodeState, int] = dataclasses.field(default_factory=dict)

    @property
    def state(self) -> MoveState:
        """The progress, from the states of the nodes."""
        planned = self.counts.get(NodeState.PLANNED)
        return MoveState.UNFINISHED if planned else MoveState.DONE


@dataclasses.dataclass(frozen=True, slots=True)
class HandOver:
    """A request that releases free nodes of services that may be alive.

    :param request_id: as that of a move; the nodes are held for it.
    :param longest: seconds after which any service may own the nodes although
        the release was not ended, by the database's clock.
    """

    request_id: str
    actor: str
    longest: float
    reason: str | None = None


class Moves(abc.ABC):
    """Plans of moves, and their execution.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @abc.abstractmethod
    def plan(self, move: Move, nodes: Sequence[NodeMove]) -> None:
        """Store a move and its nodes as one transaction.

        :param nodes: each uuid once, in any state but ``MOVED``.
        """

    @abc.abstractmethod
    def carry_out(
        self, request_id: str, nodes: Sequence[NodeMove]
    ) -> Sequence[NodeMove]:
        """Move some planned nodes as one transaction.

        Compute node, open instance, the node's result and one event are
        written together. An instance that is open in a cell only is opened,
        in place of another one. The same transaction raises the epochs of
        the sources, so that a source that still runs can't write any more.

        A node is refused if its record has changed, or if its source is no
        longer stopped: neither forced down, nor disabled with the same epoch.
        All are refused if the destination is disabled or forced down and that
        gate was not overridden. Liveness is left to the gates.

        A node that this move has released, and that is still unowned, is
        moved although its source runs. If it is not moved, its release ends.

        :param nodes: as they were when the gates were evaluated.
        :returns: the result of each, in order; one that is no longer planned
            keeps its result.
        :raises NotFoundError: if there is no such move.
        """

    @abc.abstractmethod
    def release(
        self, nodes: Sequence[NodeMove], hand_over: HandOver
    ) -> Mapping[str, str]:
        """Make free nodes unowned as one transaction; one event for each.

        Their sources stay as they are. Until the release ends, no service
        owns the nodes, unless the move of the same request gives them one.
        Permissions of the source that began before the return of this method
        have to end before that. Repeated, it holds the nodes longer.

        :param nodes: as they were when the gates were evaluated.
        :returns: why a node was not released, by uuid: its record or owner
            changed, it has an instance, or another request has released it.
        """

    @abc.abstractmethod
    def end_release(self, request_id: str, uuids: Collection[str]) -> None:
        """Let the policies decide the owner of released nodes.

        Nodes that this request does not hold any more are not changed.
        """

    @abc.abstractmethod
    def override(
        self, request_id: str, gates: Collection[str], reason: str | None
    ) -> None:
        """Override more gates of a move, for its planned nodes.

        :param gates: their codes, in addition to those of the plan.
        :param reason: replaces that of the move.
        :raises NotFoundError: if there is no such move.
        """

    @abc.abstractmethod
    def refuse(self, request_id: str, details: Mapping[str, str]) -> None:
        """Give up planned nodes of a move; those it released are not held.

        :param details: the reason, by the node's uuid.
        """

    @abc.abstractmethod
    def moves(
        self, *, unfinished: bool = False, limit: int = 100
    ) -> Sequence[Move]:
        """Return the newest moves, newest first.

        :param unfinished: only those with planned nodes.
        """

    @abc.abstractmethod
    def find(self, request_id: str) -> Move | None:
        """Return one move, if it exists."""

    @abc.abstractmethod
    def nodes(
        self, request_id: str, *, state: NodeState | None = None
    ) -> Sequence[NodeMove]:
        """Return the nodes of a move in the order of its plan."""

    @abc.abstractmethod
    def open_instances(
        self, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        """Return all running instances on record, by their node's uuid.

        More than one on a node is a fault, which a gate finds.
        """

    @abc.abstractmethod
    def other_types(self, uuids: Collection[str]) -> Mapping[str, str]:
        """Return the hypervisor types that a cell has, by the node's uuid.

        Of nodes that are not Ironic's there. None without a cell.
        """

    @abc.abstractmethod
    def separated(self) -> Sequence[str]:
        """Return the nodes whose open instance belongs to another service.

        None, unless another program has written to the database.
        """
