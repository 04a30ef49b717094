"""The db backend and the records keep their contracts on SQLite."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
import unittest

from ironic_ownership.testing import backend
from tests.contract import database
from tests.contract.suites import (
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


class _OnSqlite(unittest.TestCase):
    def fresh_url(self) -> str:
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        return f'sqlite:///{directory}/records.sqlite'


class TestBackend(
    _OnSqlite, database.BackendOnDatabase, backend.BackendContract
):
    pass


class TestOutages(_OnSqlite, database.InterruptedFile, backend.OutageContract):
    pass


class TestServices(
    _OnSqlite, database.RecordsOnDatabase, record_services.ServiceContract
):
    pass


class TestProcesses(
    _OnSqlite, database.RecordsOnDatabase, record_processes.ProcessContract
):
    pass


class TestAbsences(
    _OnSqlite, database.RecordsOnDatabase, record_absences.AbsenceContract
):
    pass


class TestClaims(
    _OnSqlite, database.RecordsOnDatabase, record_claims.ClaimContract
):
    pass


class TestConditions(
    _OnSqlite, database.RecordsOnDatabase, record_conditions.ConditionContract
):
    pass


class TestInstances(
    _OnSqlite, database.RecordsOnDatabase, record_instances.InstanceContract
):
    pass


class TestChanges(
    _OnSqlite, database.RecordsOnDatabase, record_changes.ChangeContract
):
    pass


class TestAvailability(
    _OnSqlite,
    database.RecordsOnDatabase,
    record_availability.AvailabilityContract,
):
    pass


class TestQueries(
    _OnSqlite, database.RecordsOnDatabase, record_queries.QueryContract
):
    pass


class TestOperators(
    _OnSqlite, database.RecordsOnDatabase, record_operators.OperatorContract
):
    pass


class TestEvents(
    _OnSqlite, database.EventsOnDatabase, record_events.EventContract
):
    pass


class TestPurge(_OnSqlite, database.MovesOnDatabase, purge.PurgeContract):
    pass


class TestMoves(_OnSqlite, database.MovesOnDatabase, moves.MoveContract):
    pass


class TestRecordCache(
    _OnSqlite, database.MovesOnDatabase, record_cache.RecordCacheContract
):
    pass
