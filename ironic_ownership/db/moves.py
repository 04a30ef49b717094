"""The moves port on SQL; ``move_transaction`` has the gates under locks."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import (
    HandOver,
    Move,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.db import (
    connection,
    move_transaction,
    node_results,
    release_transaction,
    rows,
    tables,
    transaction,
)
from ironic_ownership.db.transaction import Transaction

_moves = tables.moves.c
_node_moves = tables.node_moves.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c

# From the index alone, of which MySQL takes only one for two conditions.
UNFINISHED = sa.union(
    sa.select(_node_moves.request_id).where(
        _node_moves.state == NodeState.PLANNED.value
    ),
    sa.select(_node_moves.request_id).where(node_results.ON_TRIAL),
).subquery()
"""Selects the request ids of the moves that run or can be resumed."""


class SqlMoves(transaction.Port):
    """Plans of moves, and their execution.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @transaction.writes
    def plan(
        self, tx: Transaction, move: Move, nodes: Sequence[NodeMove]
    ) -> None:
        """Store a move and its nodes as one transaction.

        :param nodes: each uuid once, in any state but ``MOVED``.
        """
        now = tx.now()
        tx.add_rows(tables.moves, [rows.new_move(move, now)])
        tx.add_rows(
            tables.node_moves,
            [rows.new_node_move(move.request_id, node, now) for node in nodes],
        )

    def carry_out(
        self,
        request_id: str,
        nodes: Sequence[NodeMove],
        *,
        back_to: str | None = None,
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
        :param back_to: the source to which a failed trial gives nodes back,
            whether it runs or not. This move has to have released them. One
            that is given back is refused, any other one is moved.
        :returns: the result of each, in order; one that is no longer planned
            keeps its result.
        :raises NotFoundError: if there is no such move.
        """
        if not nodes:
            return ()

        def work(tx: Transaction) -> Sequence[NodeMove]:
            row = _stored(tx.conn, _row_of(request_id), request_id)
            # Without the counts: each batch would count all nodes again.
            move = rows.move(row)
            return move_transaction.carry_out(tx, move, nodes, back_to)

        return self._transact(work)

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
        if not nodes:
            return {}
        return self._transact(
            lambda tx: release_transaction.release(tx, nodes, hand_over)
        )

    end_release = transaction.method(Transaction.end_release)

    @transaction.writes
    def override(
        self,
        tx: Transaction,
        request_id: str,
        gates: Collection[str],
        reason: str | None,
    ) -> None:
        """Override more gates of a move, for its planned nodes.

        :param gates: their codes, in addition to those of the plan.
        :param reason: replaces that of the move.
        :raises NotFoundError: if there is no such move.
        """
        locking = _row_of(request_id).with_for_update()
        row = _stored(tx.conn, locking, request_id)
        tx.update_rows(
            _moves.request_id,
            [request_id],
            overrides=' '.join(sorted({*row.overrides.split(), *gates})),
            reason=reason,
        )

    @transaction.writes
    def refuse(
        self,
        tx: Transaction,
        request_id: str,
        details: Mapping[str, str],
        state: NodeState = NodeState.REFUSED,
        *,
        is_back: bool = False,
        released: bool = True,
    ) -> None:
        """Give up planned nodes of a move; those it released are not held.

        :param details: the reason, by the node's uuid.
        :param state: where they stay: moved, if they should have gone back.
        :param is_back: whether they go back; otherwise those that do, since
            another process resumed the move, are left alone.
        :param released: whether this process may have released them. If only
            another one has, it waits for the end of permissions.
        """
        on_way = _node_moves.trial.is_not_distinct_from(Trial.BACK.value)
        planned = (
            _node_moves.request_id == request_id,
            _node_moves.state == NodeState.PLANNED.value,
            on_way if is_back else ~on_way,
        )
        uuids = sa.select(_node_moves.node_uuid).where(*planned)
        if released:
            # The nodes first, as in every transaction that locks both.
            tx.end_release(request_id, details, _nodes.uuid.in_(uuids))
        node_results.write(
            tx,
            request_id,
            details,
            *planned,
            state=state.value,
            updated_at=tx.now(),
        )

    pass_trial = transaction.method(node_results.pass_trial)
    fail_trial = transaction.method(node_results.fail_trial)
    against_owner = transaction.method(node_results.against_owner)

    def moves(
        self,
        *,
        unfinished: bool = False,
        limit: int | None = 100,
        marker: str | None = None,
    ) -> Sequence[Move]:
        """Return the newest moves, newest first.

        :param unfinished: only those with planned nodes.
        :param marker: request id of the one after which the list begins.
        :raises NotFoundError: if that was purged: the place is not known.
        """
        statement = (
            sa.select(tables.moves).order_by(_moves.id.desc()).limit(limit)
        )
        if unfinished:
            statement = statement.where(
                _moves.request_id.in_(sa.select(UNFINISHED))
            )

        def work(conn: sa.Connection) -> list[Move]:
            chosen = statement
            if marker is not None:
                row = _stored(conn, _row_of(marker), marker)
                chosen = chosen.where(_moves.id < row.id)
            return _with_counts(conn, conn.execute(chosen).all())

        return self._database.read(work)

    def find(self, request_id: str) -> Move | None:
        """Return one move, if it exists."""

        def work(conn: sa.Connection) -> list[Move]:
            return _with_counts(conn, conn.execute(_row_of(request_id)).all())

        return next(iter(self._database.read(work)), None)

    def nodes(
        self, request_id: str, *, state: NodeState | None = None
    ) -> Sequence[NodeMove]:
        """Return the nodes of a move in the order of its plan."""
        statement = (
            sa.select(tables.node_moves)
            .where(_node_moves.request_id == request_id)
            .order_by(_node_moves.id)
        )
        if state is not None:
            statement = statement.where(_node_moves.state == state.value)
        return self._database.select(statement, rows.node_move)

    def taken_from(self, host: str, since: float) -> Sequence[str]:
        """Return the nodes that standing orders took from a service.

        :param since: by the database's clock.
        """
        statement = (
            sa.select(_node_moves.node_uuid)
            .join(tables.moves, _moves.request_id == _node_moves.request_id)
            .where(
                _moves.automatic,
                _node_moves.source == host,
                _node_moves.state == NodeState.MOVED.value,
                _node_moves.updated_at >= since,
            )
            .order_by(_node_moves.node_uuid)
        )
        return self._database.select(statement, lambda row: str(row[0]))

    def open_instances(
        self, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        """Return all running instances on record, by their node's uuid.

        More than one on a node is a fault, which a gate finds.
        """

        def work(conn: sa.Connection) -> dict[str, list[str]]:
            # With dictionaries as sets that keep their order.
            found = collections.defaultdict[str, dict[str, None]](dict)
            for some in connection.chunks(uuids):
                for node_uuid, uuid in conn.execute(
                    sa.select(_instances.node_uuid, _instances.uuid)
                    .where(
                        _instances.node_uuid.in_(some),
                        _instances.deleted_at.is_(None),
                    )
                    .order_by(_instances.id)
                ):
                    found[node_uuid][uuid] = None
            for node, running in self._linked.instances(conn, uuids).items():
                found[node].update(dict.fromkeys(running))
            return {node: list(running) for node, running in found.items()}

        return self._database.read(work)

    def objections(self, destinations: Mapping[str, str]) -> Mapping[str, str]:
        """Return why a cell refuses to move nodes, each with a gate's code.

        None without a cell.

        :param destinations: hosts by the uuid of a node.
        :returns: by the uuid of the node.
        """
        return self._database.read(
            lambda conn: self._linked.against_moves(conn, destinations)
        )

    def separated(self) -> Sequence[str]:
        """Return the nodes whose open instance belongs to another service.

        None, unless another program has written to the database.
        """
        statement = (
            sa.select(_nodes.uuid)
            .join(tables.instances, _instances.open_node_uuid == _nodes.uuid)
            .where(_nodes.host.is_distinct_from(_instances.host))
            .order_by(_nodes.uuid)
        )
        return self._database.select(statement, lambda row: str(row[0]))


def _row_of(request_id: str) -> sa.Select[Any]:
    return sa.select(tables.moves).where(_moves.request_id == request_id)


def _with_counts(conn: sa.Connection, found: Sequence[Any]) -> list[Move]:
    counts: dict[str, collections.Counter[NodeState]] = {}
    tried: collections.Counter[str] = collections.Counter()
    for some in connection.chunks([row.request_id for row in found]):
        key = _node_moves.request_id, _node_moves.state, _node_moves.trial
        for request_id, state, trial, number in conn.execute(
            sa.select(*key, sa.func.count())
            .where(_node_moves.request_id.in_(some))
            .group_by(*key)
        ):
            of_move = counts.setdefault(request_id, collections.Counter())
            of_move[NodeState(state)] += number
            if (state, trial) == (NodeState.MOVED, Trial.FIRST):
                tried[request_id] += number
    return [
        rows.move(
            row,
            counts=counts.get(row.request_id, {}),
            on_trial=tried[row.request_id],
        )
        for row in found
    ]


def _stored(
    conn: sa.Connection, statement: sa.Select[Any], request_id: str
) -> sa.Row[Any]:
    row = conn.execute(statement).first()
    if row is None:
        raise exceptions.NotFoundError(f'there is no move {request_id}')
    return row
