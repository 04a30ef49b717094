"""Pauses on SQL: what stays of those that have ended."""

from __future__ import annotations

import sqlalchemy as sa

from ironic_ownership.contracts.events import Origin
from ironic_ownership.db import tables
from ironic_ownership.db.records import SqlRecords
from tests.unit.db import sqlite


class PausesTest(sqlite.SqliteCase):
    def test_nothing_stays_of_pauses_that_end_at_their_time(self) -> None:
        database = self.open_with_schema()
        records = SqlRecords(database)
        for number in range(3):
            origin = Origin('operator', f'req-{number}')
            records.begin_pause(origin, -1.0, 'cables')
        records.begin_pause(Origin('operator', 'req-lasts'), 600.0, 'cables')
        ids = sa.select(tables.pauses.c.request_id)
        found = database.read(lambda conn: [*conn.scalars(ids)])
        self.assertEqual(['req-lasts'], found)
