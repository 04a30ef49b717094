"""Reservations on record keep their contract on real database servers."""

from __future__ import annotations

from tests.contract import test_reservations
from tests.contract.suites import (
    reservation_activation,
    reservation_beginning,
    reservation_end,
)
from tests.functional.support import databases


class OnPostgreSQL(test_reservations.ReservationsOnDatabase):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.for_services()


class OnMariaDB(test_reservations.ReservationsOnDatabase):
    def fresh_url(self) -> str:
        return databases.MARIADB.for_services()


class TestBeginningOnPostgreSQL(
    OnPostgreSQL, reservation_beginning.BeginningContract
):
    pass


class TestActivationOnPostgreSQL(
    OnPostgreSQL, reservation_activation.ActivationContract
):
    pass


class TestEndOnPostgreSQL(OnPostgreSQL, reservation_end.EndContract):
    pass


class TestMovedOnPostgreSQL(
    OnPostgreSQL, reservation_end.MovedReservationContract
):
    pass


class TestBeginningOnMariaDB(
    OnMariaDB, reservation_beginning.BeginningContract
):
    pass


class TestActivationOnMariaDB(
    OnMariaDB, reservation_activation.ActivationContract
):
    pass


class TestEndOnMariaDB(OnMariaDB, reservation_end.EndContract):
    pass


class TestMovedOnMariaDB(OnMariaDB, reservation_end.MovedReservationContract):
    pass
