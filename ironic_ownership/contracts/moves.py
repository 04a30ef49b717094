"""The port to the moves: changes of owner that operators make, on record.

A move is planned in one transaction and carried out in a few: whatever ends
the process that does it, what is left to do can be read from here. Like the
records, moves may be kept in another database one day.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence


class NodeState(enum.StrEnum):
    """What became of one node of a move."""

    PLANNED = 'planned'
    """Still to be done."""

    MOVED = 'moved'
    """The destination owns it, and its instance."""

    UNCHANGED = 'unchanged'
    """The destination owned it already."""

    REFUSED = 'refused'
    """It stays where it is: a gate failed, or it changed meanwhile."""


class MoveState(enum.StrEnum):
    """How far a move is."""

    UNFINISHED = 'unfinished'
    """Nodes are still planned: it runs, or has to be resumed."""

    DONE = 'done'
    """Every node has its result."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMove:
    """One node of a move: what was seen of it, and what became of it.

    :param uuid: the node's.
    :param source: owner on record when it was planned; ``None`` for nobody.
    :param source_epoch: epoch of that owner when the gates were judged.
    :param instance_uuid: open instance on record when they were judged.
    :param detail: why it was refused, or which gates were overridden.
    """

    uuid: str
    source: str | None
    source_epoch: int | None = None
    instance_uuid: str | None = None
    state: NodeState = NodeState.PLANNED
    detail: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One change of owner for some nodes, as an operator asked for it.

    :param request_id: ``req-`` and a uuid; also in the log and in Ironic's.
    :param destination: canonical name of the service that gets the nodes.
    :param actor: who asked for it.
    :param reason: why, in the operator's words.
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
        """How far it is, as its nodes tell."""
        if self.counts.get(NodeState.PLANNED):
            return MoveState.UNFINISHED
        return MoveState.DONE


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
        written together, and the sources' epochs are raised with them, so
        that a source that still runs can't write any more. Refused one by
        one are nodes whose record is not as it was seen, whose source is not
        stopped any more (neither forced down nor disabled with the epoch
        that was seen), and all of them if the destination is disabled or
        forced down and that gate was not overridden. Liveness is the gates'
        to judge.

        :param nodes: of this move, with what was seen of them last.
        :returns: for each of them, in order, its result; one that is not
            planned any more keeps the result it has.
        :raises NotFoundError: if there is no such move.
        """

    @abc.abstractmethod
    def refuse(self, request_id: str, details: Mapping[str, str]) -> None:
        """Give up planned nodes of a move.

        :param details: why, by the node's uuid.
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
        """Return one move, or ``None`` if there is no such one."""

    @abc.abstractmethod
    def nodes(
        self, request_id: str, *, state: NodeState | None = None
    ) -> Sequence[NodeMove]:
        """Return the nodes of a move in the order of its plan."""

    @abc.abstractmethod
    def open_instances(
        self, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        """Return all instances on record as running, by their node's uuid.

        More than one on a node is a fault that a gate has to see.
        """

    @abc.abstractmethod
    def separated(self) -> Sequence[str]:
        """Return the nodes whose open instance another service has.

        None, unless something other than this project wrote there.
        """
