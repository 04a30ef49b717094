"""Reports of the conditions of services.

In a table of their own: a report waits for no other transaction, and no
other transaction for a report. It decides nothing, so it raises no revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import conditions
from ironic_ownership.contracts.conditions import Condition, ConditionReport
from ironic_ownership.db import queries, tables, transaction

_reports = tables.condition_reports.c
_services = tables.services.c

ALL = sa.select(tables.condition_reports, queries.EpochSeconds().label('now'))
"""All reports, with the time of the query."""


def read(row: Any) -> ConditionReport:
    """Build a report from a row of :data:`ALL`."""
    return ConditionReport(
        host=row.host,
        incarnation=row.incarnation,
        interval=row.due_after,
        conditions=conditions.from_json(row.conditions),
        reported_at=row.reported_at,
        age=max(0.0, row.now - row.reported_at),
    )


def store(
    conn: sa.Connection,
    host: str,
    incarnation: str,
    found: Sequence[Condition],
    *,
    interval: float,
    at: float,
) -> bool:
    """Store the conditions of a process of a service, in place of others.

    Needs no right to write. No event, no change of the service's row.

    :param interval: seconds after which it reports again.
    :param at: the time now, on the clock of ``found``.
    :returns: whether they are stored. Those of another process stay if
        it is the active one, or still reports.
    """
    now = transaction.now_of(conn)
    before = conn.execute(ALL.where(_reports.host == host)).first()
    if before is not None and before.incarnation != incarnation:
        active = conn.execute(
            sa.select(_services.incarnation).where(_services.host == host)
        ).scalar()
        if active != incarnation and not read(before).is_overdue:
            return False
    values = {
        'incarnation': incarnation,
        'reported_at': now,
        'due_after': interval,
        'conditions': conditions.to_json(
            one.shifted(now - at) for one in found
        ),
    }
    if before is None:
        added = {'host': host, **values}
        transaction.add_rows(conn, tables.condition_reports, [added])
    else:
        transaction.update_rows(conn, _reports.host, [host], **values)
    return True


def delete(conn: sa.Connection, host: str) -> None:
    """Delete the report of a service that is deleted."""
    conn.execute(
        sa.delete(tables.condition_reports).where(_reports.host == host)
    )
