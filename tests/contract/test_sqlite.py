"""The db backend and the records keep their contracts on SQLite."""

from __future__ import annotations

from ironic_ownership_plugin_kit import backend
from tests.contract import database, sqlite
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


class TestBackend(
    sqlite.OnSqlite, database.BackendOnDatabase, backend.BackendContract
):
    pass


class TestOutages(
    sqlite.OnSqlite, database.InterruptedFile, backend.OutageContract
):
    pass


class TestServices(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_services.ServiceContract,
):
    pass


class TestProcesses(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_processes.ProcessContract,
):
    pass


class TestAbsences(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_absences.AbsenceContract,
):
    pass


class TestClaims(
    sqlite.OnSqlite, database.RecordsOnDatabase, record_claims.ClaimContract
):
    pass


class TestConditions(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_conditions.ConditionContract,
):
    pass


class TestInstances(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_instances.InstanceContract,
):
    pass


class TestChanges(
    sqlite.OnSqlite, database.RecordsOnDatabase, record_changes.ChangeContract
):
    pass


class TestAvailability(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_availability.AvailabilityContract,
):
    pass


class TestQueries(
    sqlite.OnSqlite, database.RecordsOnDatabase, record_queries.QueryContract
):
    pass


class TestOperators(
    sqlite.OnSqlite,
    database.RecordsOnDatabase,
    record_operators.OperatorContract,
):
    pass


class TestEvents(
    sqlite.OnSqlite, database.EventsOnDatabase, record_events.EventContract
):
    pass


class TestPurge(
    sqlite.OnSqlite, database.MovesOnDatabase, purge.PurgeContract
):
    pass


class TestMoves(sqlite.OnSqlite, database.MovesOnDatabase, moves.MoveContract):
    pass


class TestHandOvers(
    sqlite.OnSqlite, database.MovesOnDatabase, hand_overs.HandOverContract
):
    pass


class TestRecordCache(
    sqlite.OnSqlite, database.MovesOnDatabase, record_cache.RecordCacheContract
):
    pass
