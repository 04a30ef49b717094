"""The contracts that the records and members keep on databases of any kind."""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership_plugin_kit import backend
from tests.contract import database
from tests.contract.suites import (
    enforcement,
    hand_overs,
    moves,
    node_imports,
    outbox,
    purge,
    record_absences,
    record_availability,
    record_budgets,
    record_cache,
    record_changes,
    record_claims,
    record_conditions,
    record_events,
    record_instances,
    record_operators,
    record_pauses,
    record_processes,
    record_queries,
    record_services,
    removals,
    reservations,
    standing_orders,
)

_BACKEND, _RECORDS = database.BackendOnDatabase, database.RecordsOnDatabase
_MOVES, _OWN_MOVES = database.MovesOnDatabase, database.OwnMovesOnDatabase
_RESERVATIONS = database.ReservationsOnDatabase

SUITES: Mapping[str, tuple[type[database.OnDatabase], type]] = {
    'Backend': (_BACKEND, backend.BackendContract),
    'Outages': (database.InterruptedDatabase, backend.OutageContract),
    'Services': (_RECORDS, record_services.ServiceContract),
    'Processes': (_RECORDS, record_processes.ProcessContract),
    'Absences': (_RECORDS, record_absences.AbsenceContract),
    'Conditions': (_RECORDS, record_conditions.ConditionContract),
    'Claims': (_RECORDS, record_claims.ClaimContract),
    'Instances': (_RECORDS, record_instances.InstanceContract),
    'Changes': (_RECORDS, record_changes.ChangeContract),
    'Availability': (_RECORDS, record_availability.AvailabilityContract),
    'Queries': (_RECORDS, record_queries.QueryContract),
    'Operators': (_RECORDS, record_operators.OperatorContract),
    'Enforcement': (_RECORDS, enforcement.EnforcementContract),
    'Pauses': (_RECORDS, record_pauses.PauseContract),
    'Budgets': (database.EventsOnDatabase, record_budgets.BudgetContract),
    'Events': (database.EventsOnDatabase, record_events.EventContract),
    'Purge': (_OWN_MOVES, purge.PurgeContract),
    'Moves': (_MOVES, moves.MoveContract),
    'StandingOrders': (_MOVES, standing_orders.StandingOrderContract),
    'HandOvers': (_MOVES, hand_overs.HandOverContract),
    'RecordCache': (_OWN_MOVES, record_cache.RecordCacheContract),
    'Removals': (database.RemovalsOnDatabase, removals.RemovalContract),
    'Imports': (database.ImportsOnDatabase, node_imports.NodeImportContract),
    'Outbox': (database.OutboxOnDatabase, outbox.OutboxContract),
    'Beginning': (_RESERVATIONS, reservations.BeginningContract),
    'Activation': (_RESERVATIONS, reservations.ActivationContract),
    'End': (_RESERVATIONS, reservations.EndContract),
    'Moved': (_RESERVATIONS, reservations.MovedReservationContract),
}
"""What builds the subject of each contract, and the contract."""


def classes(
    module: str,
    kind: type[database.OnDatabase],
    suffix: str = '',
    instead: Mapping[str, type[database.OnDatabase] | None] | None = None,
) -> dict[str, type]:
    """Return the test classes of a module by name, one for each contract.

    :param kind: gives a fresh database of one kind.
    :param instead: other builders, by the name in :data:`SUITES`; ``None``
        leaves the contract out.
    """
    made = {}
    for name, (builder, contract) in SUITES.items():
        chosen = {name: builder, **(instead or {})}[name]
        if chosen is not None:
            full = f'Test{name}{suffix}'
            bases = (kind, chosen, contract)
            made[full] = type(full, bases, {'__module__': module})
    return made
