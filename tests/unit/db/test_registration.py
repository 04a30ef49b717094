from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db import records, tables
from tests.unit.db import sqlite


class TestLostCommits(sqlite.SqliteCase):
    """The database is restored from before a registration."""

    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)

    def register(self) -> int:
        return self.records.register('host1', model.MemberSettings())

    def lose(self, statement: sa.Delete | sa.Insert | sa.Update) -> None:
        self.database.write(lambda conn: conn.execute(statement))

    def test_lost_epoch_is_not_given_to_another_process(self) -> None:
        before = self.register()
        lost = {self.register() for _ in range(3)}
        self.lose(sa.update(tables.services).values(epoch=before))
        again = {self.register() for _ in range(3)}
        self.assertEqual(set(), lost & again)
        for epoch in lost:
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', epoch, [])

    def test_clock_that_is_behind_repeats_no_lost_epoch(self) -> None:
        # Of a promoted server: each epoch is in the future of its clock.
        far = 10**15
        epochs = set()
        for _ in range(8):
            self.register()
            self.lose(sa.update(tables.services).values(epoch=far))
            epochs.add(self.register())
        self.assertEqual(8, len(epochs))
        self.assertLess(far, min(epochs))

    def test_clock_that_stands_still_repeats_no_epoch(self) -> None:
        sqlite.set_clock(self, lambda: 1_700_000_000.0)
        self.database = self.open()
        self.records = records.SqlRecords(self.database)
        first = self.register()
        self.assertLess(first, self.register())

    def test_epoch_is_not_repeated_when_the_row_is_lost(self) -> None:
        lost = self.register()
        self.lose(sa.delete(tables.events))
        self.lose(sa.delete(tables.services))
        self.assertNotEqual(lost, self.register())

    def test_deleted_host_raises_no_epoch_of_another(self) -> None:
        far = 10**15
        for host in ('host10', 'host1'):
            self.lose(
                sa.insert(tables.events).values(
                    at=1.0,
                    actor='x',
                    kind=EventKind.SERVICE_DELETED.value,
                    from_host=host,
                    reason=f'epoch {far}',
                )
            )
            if host == 'host10':
                self.assertLess(self.register(), far)
        self.lose(sa.delete(tables.services))
        self.assertLess(far, self.register())


class TestDeath(sqlite.SqliteCase):
    def test_death_and_registration_read_no_events_of_nodes(self) -> None:
        """A service of 1,000 nodes has 100,000 of them in a year."""
        database = self.open_with_schema()
        stored = records.SqlRecords(database)
        epochs = [
            stored.register(host, model.MemberSettings())
            for host in ('host1', 'host2')
        ]
        read: list[tuple[str, object]] = []

        def note(*given: Any) -> None:
            if 'FROM events' in given[2]:
                read.append(given[2:4])

        sa.event.listen(database.engine, 'before_cursor_execute', note)
        stored.record_death('host1', epochs[0], 'host2', epochs[1], 'gone')
        stored.register('host3', model.MemberSettings())
        sa.event.remove(database.engine, 'before_cursor_execute', note)
        self.assertEqual(3, len(read))
        with database.engine.connect() as conn:
            for text, values in read:
                steps = conn.exec_driver_sql(
                    f'EXPLAIN QUERY PLAN {text}', values
                )
                (step,) = steps.all()
                self.assertIn('ix_events_node_uuid', step.detail)
