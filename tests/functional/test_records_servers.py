"""The contracts of records and membership on real database servers.

The same suites run on SQLite in ``tests/contract``.
"""

from __future__ import annotations

import unittest

from ironic_ownership_plugin_kit import backend
from lab import mariadb, postgresql
from tests.contract import database
from tests.contract.suites import (
    hand_overs,
    moves,
    purge,
    record_absences,
    record_availability,
    record_cache,
    record_changes,
    record_claims,
    record_conditions,
    record_events,
    record_instances,
    record_operators,
    record_processes,
    record_queries,
    record_services,
)
from tests.functional.support import databases


class _OnPostgreSQL(unittest.TestCase):
    @property
    def server(self) -> postgresql.PostgreSQL:
        return databases.POSTGRESQL.server

    def fresh_url(self) -> str:
        return databases.POSTGRESQL.for_services()


class _OnMariaDB(unittest.TestCase):
    @property
    def server(self) -> mariadb.MariaDB:
        return databases.MARIADB.server

    def fresh_url(self) -> str:
        return databases.MARIADB.for_services()


class _AsOwnerOfPostgreSQL(_OnPostgreSQL):
    """Its tests alter or delete events, which services may not."""

    def fresh_url(self) -> str:
        return databases.POSTGRESQL.empty()


class _AsOwnerOfMariaDB(_OnMariaDB):
    """The same on MariaDB."""

    def fresh_url(self) -> str:
        return databases.MARIADB.empty()


class _OnItsOwnPostgreSQL(_OnPostgreSQL):
    """Other threads write, maybe after the end of their test."""

    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class _OnItsOwnMariaDB(_OnMariaDB):
    """The same on MariaDB."""

    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()


class TestBackendOnPostgreSQL(
    _OnItsOwnPostgreSQL, database.BackendOnDatabase, backend.BackendContract
):
    pass


class TestBackendOnMariaDB(
    _OnItsOwnMariaDB, database.BackendOnDatabase, backend.BackendContract
):
    pass


class TestOutagesOnPostgreSQL(
    _OnItsOwnPostgreSQL, database.InterruptedDatabase, backend.OutageContract
):
    pass


class TestOutagesOnMariaDB(
    _OnItsOwnMariaDB, database.InterruptedDatabase, backend.OutageContract
):
    pass


class TestServicesOnPostgreSQL(
    _OnPostgreSQL, database.RecordsOnDatabase, record_services.ServiceContract
):
    pass


class TestServicesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_services.ServiceContract
):
    pass


class TestProcessesOnPostgreSQL(
    _OnPostgreSQL,
    database.RecordsOnDatabase,
    record_processes.ProcessContract,
):
    pass


class TestProcessesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_processes.ProcessContract
):
    pass


class TestAbsencesOnPostgreSQL(
    _OnPostgreSQL, database.RecordsOnDatabase, record_absences.AbsenceContract
):
    pass


class TestAbsencesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_absences.AbsenceContract
):
    pass


class TestConditionsOnPostgreSQL(
    _OnPostgreSQL,
    database.RecordsOnDatabase,
    record_conditions.ConditionContract,
):
    pass


class TestConditionsOnMariaDB(
    _OnMariaDB,
    database.RecordsOnDatabase,
    record_conditions.ConditionContract,
):
    pass


class TestClaimsOnPostgreSQL(
    _OnPostgreSQL, database.RecordsOnDatabase, record_claims.ClaimContract
):
    pass


class TestClaimsOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_claims.ClaimContract
):
    pass


class TestInstancesOnPostgreSQL(
    _OnPostgreSQL,
    database.RecordsOnDatabase,
    record_instances.InstanceContract,
):
    pass


class TestInstancesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_instances.InstanceContract
):
    pass


class TestChangesOnPostgreSQL(
    _OnPostgreSQL, database.RecordsOnDatabase, record_changes.ChangeContract
):
    pass


class TestChangesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_changes.ChangeContract
):
    pass


class TestAvailabilityOnPostgreSQL(
    _OnPostgreSQL,
    database.RecordsOnDatabase,
    record_availability.AvailabilityContract,
):
    pass


class TestAvailabilityOnMariaDB(
    _OnMariaDB,
    database.RecordsOnDatabase,
    record_availability.AvailabilityContract,
):
    pass


class TestQueriesOnPostgreSQL(
    _OnPostgreSQL, database.RecordsOnDatabase, record_queries.QueryContract
):
    pass


class TestQueriesOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_queries.QueryContract
):
    pass


class TestEventsOnPostgreSQL(
    _AsOwnerOfPostgreSQL,
    database.EventsOnDatabase,
    record_events.EventContract,
):
    pass


class TestEventsOnMariaDB(
    _AsOwnerOfMariaDB, database.EventsOnDatabase, record_events.EventContract
):
    pass


class TestPurgeOnPostgreSQL(
    _AsOwnerOfPostgreSQL, database.MovesOnDatabase, purge.PurgeContract
):
    pass


class TestPurgeOnMariaDB(
    _AsOwnerOfMariaDB, database.MovesOnDatabase, purge.PurgeContract
):
    pass


class TestOperatorsOnPostgreSQL(
    _OnPostgreSQL,
    database.RecordsOnDatabase,
    record_operators.OperatorContract,
):
    pass


class TestOperatorsOnMariaDB(
    _OnMariaDB, database.RecordsOnDatabase, record_operators.OperatorContract
):
    pass


class TestMovesOnPostgreSQL(
    _OnPostgreSQL, database.MovesOnDatabase, moves.MoveContract
):
    pass


class TestMovesOnMariaDB(
    _OnMariaDB, database.MovesOnDatabase, moves.MoveContract
):
    pass


class TestHandOversOnPostgreSQL(
    _OnPostgreSQL, database.MovesOnDatabase, hand_overs.HandOverContract
):
    pass


class TestHandOversOnMariaDB(
    _OnMariaDB, database.MovesOnDatabase, hand_overs.HandOverContract
):
    pass


class TestRecordCacheOnPostgreSQL(
    _AsOwnerOfPostgreSQL,
    database.MovesOnDatabase,
    record_cache.RecordCacheContract,
):
    pass


class TestRecordCacheOnMariaDB(
    _AsOwnerOfMariaDB,
    database.MovesOnDatabase,
    record_cache.RecordCacheContract,
):
    pass
