from __future__ import annotations

import unittest.mock
from typing import Any

import sqlalchemy as sa

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.moves import StandingOrder
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    NodeFilter,
    Outcome,
    Release,
    Update,
)
from ironic_ownership.contracts.reservations import Request, Reservation
from ironic_ownership.db import heartbeats, records, reservations, tables
from tests.unit.db import sqlite


def uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012d}'


def claims(numbers: range) -> list[Change]:
    return [
        Claim(model.Node(uuid(n)), reasons.Reason.EXCLUSIVE) for n in numbers
    ]


class TestStatements(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)
        self.statements: list[str] = []
        self.epoch = self.records.register('host1', model.MemberSettings())

        self.compiled: list[str] = []

        @sa.event.listens_for(self.database.engine, 'before_cursor_execute')
        def count(conn, cursor, statement, parameters, context, many) -> None:
            self.statements.append(statement)
            if context.compiled and context.cache_hit.name != 'CACHE_HIT':
                self.compiled.append(statement)

    def counted(self, changes: list[Change]) -> int:
        self.statements.clear()
        outcome = self.records.apply('host1', self.epoch, changes)
        self.assertEqual((), outcome.refused)
        return len(self.statements)

    def test_statements_are_compiled_once(self) -> None:
        member = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=60, call_timeout=60
        )
        member._database = self.database
        member.join('host1', 'one', model.MemberSettings())
        for number in range(2):
            self.compiled.clear()
            self.records.service_and_node('host1', uuid(number))
            self.records.service('host1')
            self.records.services()
            self.records.condition_reports()
            member.beat()
        self.assertEqual([], self.compiled)

    def test_number_of_statements_does_not_grow_with_the_nodes(self) -> None:
        few, many = range(1), range(1, 401)
        self.assertEqual(self.counted(claims(few)), self.counted(claims(many)))
        for change in (
            lambda n: Update(model.Node(uuid(n), instance_uuid='i')),
            lambda n: Update(model.Node(uuid(n), name='new')),
            lambda n: Release(uuid(n)),
        ):
            self.assertEqual(
                self.counted([change(n) for n in few]),
                self.counted([change(n) for n in many]),
            )

    def test_update_without_a_change_writes_nothing(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(5)))
        self.counted([Update(model.Node(uuid(n))) for n in range(5)])
        written = [
            s
            for s in self.statements
            if s.startswith(('INSERT', 'UPDATE', 'DELETE'))
        ]
        self.assertEqual([], written)

    def test_epoch_after_deletions_is_greater_than_all_of_them(self) -> None:
        far = 10**15  # milliseconds, long after the database's clock
        event = {'actor': 'a', 'kind': 'service_deleted', 'from_host': 'host9'}
        # Where several servers write, ids are not in the order of commits.
        late_and_early = [
            {**event, 'id': 900, 'at': 1.0, 'reason': f'epoch {far + 4}'},
            {**event, 'id': 901, 'at': 2.0, 'reason': f'epoch {far + 3}'},
        ]
        self.database.write(
            lambda conn: conn.execute(sa.insert(tables.events), late_and_early)
        )
        epoch = self.records.register('host9', model.MemberSettings())
        self.assertGreater(epoch, far + 4)

    def test_records_to_keep_are_read_page_by_page(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(30)))
        expected = {one.uuid: one for one in self.records.compute_nodes()}
        for size in (7, 15, 30, 31):
            with unittest.mock.patch.object(records, 'PAGE', size):
                self.statements.clear()
                found = [
                    *self.records.in_reach('host1', model.Scope(nothing=True))
                ]
            self.assertEqual(expected, {one.uuid: one for one in found})
            queries = [s for s in self.statements if s != 'BEGIN']
            self.assertEqual(30 // size + 1, len(queries))

    def test_end_of_a_reservation_without_a_node_reads_no_node(self) -> None:
        stored = reservations.SqlReservations(self.database)
        request = Request(uuid(1), 'host1')
        stored.begin(Reservation('r1', uuid(1), 'host1', request))
        self.statements.clear()
        stored.close('r1', 'Ironic allocated no node')
        self.assertNotIn('compute_nodes', ' '.join(self.statements))

    def test_each_read_is_one_query(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(300)))
        for read in (
            self.records.compute_nodes,
            self.records.services,
            self.records.counts,
            self.records.events,
            lambda: self.records.compute_nodes(NodeFilter(host='host1')),
        ):
            self.statements.clear()
            read()
            self.assertEqual(
                1, len([s for s in self.statements if s != 'BEGIN'])
            )


class TestMoments(sqlite.SqliteCase):
    def test_at_the_moment_of_its_end_it_has_ended(self) -> None:
        now, day, origin = 864e6, 86400, Origin('operator', 'req-1')
        sqlite.set_clock(self, lambda: now)
        stored = records.SqlRecords(self.open_with_schema())
        for host in ('host1', 'host2'):
            epoch = stored.register(host, model.MemberSettings())
        stored.begin_pause(origin, day, 'cables')
        order = StandingOrder(day, 'operator', 'on call')
        dead = stored.give_order('host1', order, origin)
        stored.note_fence('host2', epoch, dead)
        stored.retire('host2', epoch, grace=day)
        for ended in (False, True):
            now += day / 2
            ordered, retired = stored.services()
            lasting = {bool(stored.pauses()), retired.away}
            self.assertEqual({not ended}, lasting)
            self.assertEqual(ended, ordered.order_due)


class TestRows(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)
        self.epoch = self.records.register('host1', model.MemberSettings())

    def run_sql(self, *statements: str) -> None:
        for text in statements:
            sqlite.run_sql(self.database, text)

    def stored(self, column: sa.Column[Any]) -> list[Any]:
        return self.database.read(
            lambda conn: list(conn.scalars(sa.select(column)))
        )

    def claim(self, **values: str | None) -> Outcome:
        node = model.Node(uuid(1), **values)
        return self.records.apply(
            'host1', self.epoch, [Claim(node, reasons.Reason.EXCLUSIVE)]
        )

    def test_open_instance_follows_its_node_to_the_new_owner(self) -> None:
        for values in ({}, {'instance_uuid': 'i1'}):
            self.run_sql('DELETE FROM instances', 'DELETE FROM compute_nodes')
            self.claim(instance_uuid='i1')
            self.run_sql(
                'UPDATE compute_nodes SET host=NULL',
                "UPDATE instances SET host='gone'",
            )
            self.assertEqual((), self.claim(**values).refused)
            self.assertEqual(['host1'], self.stored(tables.instances.c.host))

    def test_returning_node_keeps_the_time_of_its_creation(self) -> None:
        self.claim()
        self.run_sql('UPDATE compute_nodes SET created_at=5')
        self.records.apply('host1', self.epoch, [Delete(uuid(1))])
        self.claim()
        created = self.stored(tables.compute_nodes.c.created_at)
        self.assertEqual([5], created)

    def test_claim_from_a_deleted_service_needs_no_epoch(self) -> None:
        self.claim()
        epoch = self.records.register('host2', model.MemberSettings())
        self.run_sql("DELETE FROM services WHERE host='host1'")
        node, reason = model.Node(uuid(1)), reasons.Reason.ASSIGNED
        for seen_epoch, applied in ((1, 0), (None, 1)):
            claim = Claim(node, reason, 'host1', seen_epoch)
            outcome = self.records.apply('host2', epoch, [claim])
            self.assertEqual(applied, len(outcome.applied))

    def test_rows_of_a_newer_release_can_be_read(self) -> None:
        self.claim()
        self.run_sql(
            "UPDATE compute_nodes SET reason='new'",
            'UPDATE services SET settings=\'{"contract_version": 1, '
            '"policies": [{"name": "a", "options": {"x": {}}}]}\'',
        )
        self.assertEqual('host1', self.records.compute_nodes()[0].host)
        (service,) = self.records.services()
        self.assertEqual(0, service.settings.contract_version)

    def test_nothing_stays_of_pauses_that_end_at_their_time(self) -> None:
        for number, seconds in enumerate((-1.0, -1.0, 600.0)):
            origin = Origin('operator', f'req-{number}')
            self.records.begin_pause(origin, seconds, 'cables')
        ids = self.stored(tables.pauses.c.request_id)
        self.assertEqual(['req-2'], ids)
