"""Reservations on record keep their contract on SQLite."""

from __future__ import annotations

from ironic_ownership.contracts.moves import Move, NodeMove, NodeState
from ironic_ownership.db import moves
from ironic_ownership.db.reservations import SqlReservations
from tests.contract import database, sqlite
from tests.contract.suites import (
    records,
    reservation_activation,
    reservation_beginning,
    reservation_end,
)


class ReservationsOnDatabase(database.RecordsOnDatabase):
    """Builds the reservations next to the records."""

    def make_reservations(self) -> SqlReservations:
        return SqlReservations(self.database)

    def move(self, number: int, destination: str) -> None:
        """Move a node from a service that was forced down."""
        port = moves.SqlMoves(self.database)
        (record,) = self.records.compute_nodes_by_uuid([records.uuid(number)])
        source = self.records.set_service(
            record.host, actor='operator', forced_down=True
        )
        node = NodeMove(
            record.uuid, record.host, source.epoch, record.instance_uuid
        )
        port.plan(Move('req-1', destination, 'operator'), [node])
        (done,) = port.carry_out('req-1', [node])
        self.assertIs(NodeState.MOVED, done.state, done.detail)


class TestBeginning(
    sqlite.OnSqlite,
    ReservationsOnDatabase,
    reservation_beginning.BeginningContract,
):
    pass


class TestActivation(
    sqlite.OnSqlite,
    ReservationsOnDatabase,
    reservation_activation.ActivationContract,
):
    pass


class TestEnd(
    sqlite.OnSqlite, ReservationsOnDatabase, reservation_end.EndContract
):
    pass


class TestMoved(
    sqlite.OnSqlite,
    ReservationsOnDatabase,
    reservation_end.MovedReservationContract,
):
    pass
