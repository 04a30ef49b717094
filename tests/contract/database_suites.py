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
_OWN = database.OwnRecordsOnDatabase

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
    'Budgets': (_OWN, record_budgets.BudgetContract),
    'Events': (_OWN, record_events.EventContract),
    'Purge': (_OWN, purge.PurgeContract),
    'Moves': (_RECORDS, moves.MoveContract),
    'StandingOrders': (_RECORDS, standing_orders.StandingOrderContract),
    'HandOvers': (_RECORDS, hand_overs.HandOverContract),
    'RecordCache': (_OWN, record_cache.RecordCacheContract),
    'Removals': (_RECORDS, removals.RemovalContract),
    'Imports': (_RECORDS, node_imports.NodeImportContract),
    'Outbox': (_RECORDS, outbox.OutboxContract),
    'Beginning': (_RECORDS, reservations.BeginningContract),
    'Activation': (_RECORDS, reservations.ActivationContract),
    'End': (_RECORDS, reservations.EndContract),
    'Moved': (_RECORDS, reservations.MovedReservationContract),
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
