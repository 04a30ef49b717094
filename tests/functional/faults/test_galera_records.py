"""The contracts of records and membership on a Galera cluster.

Each transaction goes through another node of three, so what one of them has
committed has to count at the others immediately. The suites are those of
SQLite (``tests/contract``) and of single servers.
"""

from __future__ import annotations

from ironic_ownership_plugin_kit import backend
from tests.contract import (
    database,
    test_node_imports,
    test_outbox,
    test_removals,
    test_reservations,
)
from tests.contract.suites import (
    hand_overs,
    moves,
    node_imports,
    outbox,
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
    removals,
    reservation_activation,
    reservation_beginning,
    reservation_end,
)
from tests.functional.support import galera_case


class _Records(galera_case.OnGalera, database.RecordsOnDatabase):
    pass


class _Events(galera_case.OnGalera, database.EventsOnDatabase):
    pass


class _Moves(galera_case.OnGalera, database.MovesOnDatabase):
    pass


class _Reservations(
    galera_case.OnGalera, test_reservations.ReservationsOnDatabase
):
    pass


class TestBackend(galera_case.BackendOnGalera, backend.BackendContract):
    pass


class TestServices(_Records, record_services.ServiceContract):
    pass


class TestProcesses(_Records, record_processes.ProcessContract):
    pass


class TestAbsences(_Records, record_absences.AbsenceContract):
    pass


class TestConditions(_Records, record_conditions.ConditionContract):
    pass


class TestClaims(_Records, record_claims.ClaimContract):
    pass


class TestInstances(_Records, record_instances.InstanceContract):
    pass


class TestChanges(_Records, record_changes.ChangeContract):
    pass


class TestAvailability(_Records, record_availability.AvailabilityContract):
    pass


class TestQueries(_Records, record_queries.QueryContract):
    pass


class TestEvents(_Events, record_events.EventContract):
    pass


class TestPurge(_Moves, purge.PurgeContract):
    pass


class TestOperators(_Records, record_operators.OperatorContract):
    pass


class TestMoves(_Moves, moves.MoveContract):
    pass


class TestHandOvers(_Moves, hand_overs.HandOverContract):
    pass


class TestRemovals(
    galera_case.OnGalera,
    test_removals.RemovalsOnDatabase,
    removals.RemovalContract,
):
    pass


class TestImports(
    galera_case.OnGalera,
    test_node_imports.ImportsOnDatabase,
    node_imports.NodeImportContract,
):
    pass


class TestOutbox(
    test_outbox.OutboxOnDatabase, galera_case.OnGalera, outbox.OutboxContract
):
    pass


class TestBeginning(_Reservations, reservation_beginning.BeginningContract):
    pass


class TestActivation(_Reservations, reservation_activation.ActivationContract):
    pass


class TestEnd(_Reservations, reservation_end.EndContract):
    pass


class TestMoved(_Reservations, reservation_end.MovedReservationContract):
    pass


class TestRecordCache(_Moves, record_cache.RecordCacheContract):
    pass
