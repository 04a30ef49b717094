"""The moves port on SQL; ``move_transaction`` has the gates under locks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.moves import (
    HandOver,
    Move,
    Moves,
    NodeMove,
    NodeState,
)
from ironic_ownership.db import (
    connection,
    move_transaction,
    queries,
    release_transaction,
    rows,
    tables,
    transaction,
)

_moves = tables.moves.c
_node_moves = tables.node_moves.c
_nodes = tables.compute_nodes.c
_instances = tables.instances.c


class SqlMoves(connection.Port, Moves):
    """Moves in the database of the records."""

    @connection.writes
    def plan(
        self, conn: sa.Connection, move: Move, nodes: Sequence[NodeMove]
    ) -> None:
        now = transaction.now_of(conn)
        conn.execute(
            sa.insert(tables.moves).values(
                request_id=move.request_id,
                destination=move.destination,
                actor=move.actor,
                reason=move.reason,
                overrides=' '.join(move.overrides),
                created_at=now,
            )
        )
        planned = [
            {
                'request_id': move.request_id,
                'node_uuid': node.uuid,
                'source': node.source,
                'source_epoch': node.source_epoch,
                'instance_uuid': node.instance_uuid,
                'state': node.state.value,
                'detail': node.detail,
                'updated_at': now,
            }
            for node in nodes
        ]
        if planned:
            conn.execute(sa.insert(tables.node_moves), planned)

    def carry_out(
        self, request_id: str, nodes: Sequence[NodeMove]
    ) -> Sequence[NodeMove]:
        def work(conn: sa.Connection) -> Sequence[NodeMove]:
            row = conn.execute(_row_of(request_id)).first()
            if row is None:
                raise _lost(request_id)
            # Without the counts: each batch would count all nodes again.
            return move_transaction.carry_out(
                conn, self._companion, _move(row, {}), nodes
            )

        return self._database.write(work) if nodes else ()

    def release(
        self, nodes: Sequence[NodeMove], hand_over: HandOver
    ) -> Mapping[str, str]:
        def work(conn: sa.Connection) -> Mapping[str, str]:
            return release_transaction.release(
                conn, self._companion, nodes, hand_over
            )

        return self._database.write(work) if nodes else {}

    @connection.writes
    def end_release(
        self, conn: sa.Connection, request_id: str, uuids: Collection[str]
    ) -> None:
        release_transaction.end(conn, request_id, uuids)

    @connection.writes
    def override(
        self,
        conn: sa.Connection,
        request_id: str,
        gates: Collection[str],
        reason: str | None,
    ) -> None:
        row = conn.execute(_row_of(request_id).with_for_update()).first()
        if row is None:
            raise _lost(request_id)
        conn.execute(
            sa.update(tables.moves)
            .where(_moves.request_id == request_id)
            .values(
                overrides=' '.join(sorted({*row.overrides.split(), *gates})),
                reason=reason,
            )
        )

    @connection.writes
    def refuse(
        self, conn: sa.Connection, request_id: str, details: Mapping[str, str]
    ) -> None:
        # The nodes first, as in every transaction that locks both.
        release_transaction.end(conn, request_id, details)
        now = transaction.now_of(conn)
        for uuid, detail in sorted(details.items()):
            conn.execute(
                sa.update(tables.node_moves)
                .where(
                    _node_moves.request_id == request_id,
                    _node_moves.node_uuid == uuid,
                    _node_moves.state == NodeState.PLANNED.value,
                )
                .values(
                    state=NodeState.REFUSED.value,
                    detail=detail,
                    updated_at=now,
                )
            )

    def moves(
        self, *, unfinished: bool = False, limit: int = 100
    ) -> Sequence[Move]:
        statement = (
            sa.select(tables.moves).order_by(_moves.id.desc()).limit(limit)
        )
        if unfinished:
            statement = statement.where(
                _moves.request_id.in_(
                    sa.select(_node_moves.request_id).where(
                        _node_moves.state == NodeState.PLANNED.value
                    )
                )
            )

        def work(conn: sa.Connection) -> list[Move]:
            return _with_counts(conn, conn.execute(statement).all())

        return self._database.read(work)

    def find(self, request_id: str) -> Move | None:
        return self._database.read(lambda conn: _find(conn, request_id))

    def nodes(
        self, request_id: str, *, state: NodeState | None = None
    ) -> Sequence[NodeMove]:
        statement = (
            sa.select(tables.node_moves)
            .where(_node_moves.request_id == request_id)
            .order_by(_node_moves.id)
        )
        if state is not None:
            statement = statement.where(_node_moves.state == state.value)
        return self._database.select(statement, rows.node_move)

    def open_instances(
        self, uuids: Collection[str]
    ) -> Mapping[str, Sequence[str]]:
        def work(conn: sa.Connection) -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for some in queries.chunks(uuids):
                for node_uuid, uuid in conn.execute(
                    sa.select(_instances.node_uuid, _instances.uuid)
                    .where(
                        _instances.node_uuid.in_(some),
                        _instances.deleted_at.is_(None),
                    )
                    .order_by(_instances.id)
                ):
                    found.setdefault(node_uuid, []).append(uuid)
            more = self._companion.instances(conn, uuids)
            return {
                node: list(
                    dict.fromkeys([*found.get(node, ()), *more.get(node, ())])
                )
                for node in found.keys() | more.keys()
            }

        return self._database.read(work)

    def other_types(self, uuids: Collection[str]) -> Mapping[str, str]:
        return self._database.read(
            lambda conn: self._companion.other_types(conn, uuids)
        )

    def separated(self) -> Sequence[str]:
        statement = (
            sa.select(_nodes.uuid, _nodes.host, _instances.host)
            .select_from(
                tables.compute_nodes.join(
                    tables.instances, _instances.open_node_uuid == _nodes.uuid
                )
            )
            .order_by(_nodes.uuid)
        )
        found = self._database.select(statement, tuple)
        # Compared here: in SQL nothing differs from a null.
        return [uuid for uuid, owner, host in found if owner != host]


def _find(conn: sa.Connection, request_id: str) -> Move | None:
    found = conn.execute(_row_of(request_id)).all()
    whole = _with_counts(conn, found)
    return whole[0] if whole else None


def _row_of(request_id: str) -> sa.Select[Any]:
    return sa.select(tables.moves).where(_moves.request_id == request_id)


def _with_counts(conn: sa.Connection, found: Sequence[Any]) -> list[Move]:
    counts: dict[str, dict[NodeState, int]] = {}
    for some in queries.chunks([row.request_id for row in found]):
        for request_id, state, number in conn.execute(
            sa.select(
                _node_moves.request_id, _node_moves.state, sa.func.count()
            )
            .where(_node_moves.request_id.in_(some))
            .group_by(_node_moves.request_id, _node_moves.state)
        ):
            of_move = counts.setdefault(request_id, {})
            of_move[NodeState(state)] = number
    return [_move(row, counts.get(row.request_id, {})) for row in found]


def _move(row: sa.Row[Any], counts: Mapping[NodeState, int]) -> Move:
    return Move(
        request_id=row.request_id,
        destination=row.destination,
        actor=row.actor,
        reason=row.reason,
        overrides=tuple(row.overrides.split()),
        created_at=row.created_at,
        counts=counts,
    )


def _lost(request_id: str) -> exceptions.NotFoundError:
    return exceptions.NotFoundError(f'there is no move {request_id}')
