"""Adoption of a Nova cell, drift of its rows, permissions, on MariaDB."""

from __future__ import annotations

import contextlib
import datetime
import unittest
import uuid as uuid_
from typing import Any
from unittest import mock

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, model, moves, records
from ironic_ownership.contracts.events import Origin
from ironic_ownership.db import connection, linked_tables, schema, tables
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.host.snapshot import RecordCache
from ironic_ownership_nova.cell import check, companion, locked_rows, port
from ironic_ownership_nova.cell import model as cell
from lab import mariadb
from tests.contract.suites import records as suite
from tests.functional import test_cell
from tests.functional.support import cells, databases

ADOPTED, UNCHANGED = cell.State.ADOPTED, cell.State.UNCHANGED
REFUSED = cell.State.REFUSED
BY = Origin('operator', 'req-1')


def checked(found: port.SqlCell) -> list[check.Finding]:
    """Return what the check of a cell without services finds."""
    records, backend = mock.Mock(), mock.Mock()
    records.services.return_value = []
    return check.of_cell(found, records, backend)


class AdoptionCase(test_cell.WithCell, suite.RecordsContract):
    """A cell of stock Nova: ``stock`` has nodes 1 to 7, ``host3`` 8 and 9."""

    def setUp(self) -> None:
        super().setUp()
        self.cell.add_nodes('host3', [suite.uuid(8), suite.uuid(9)])
        self.port = port.SqlCell(self.database, self.companion)

    def adopt(self, *numbers: int) -> dict[int, cell.State]:
        nodes = {
            suite.uuid(n): None if n == 9 else suite.node(n) for n in numbers
        }
        found = self.port.adopt(nodes, BY)
        self.details = {node.uuid: str(node.detail) for node in found}
        return {
            n: node.state
            for n, node in zip(sorted(numbers), found, strict=True)
        }

    def give(self, number: int, host: str) -> None:
        """Give a row to another service, as stock Nova does."""
        ((found,),) = self.cell.query(
            f"SELECT id FROM {self.cell.schema}.services WHERE host = '{host}'"
        )
        self.write(number, f"host = '{host}', service_id = {found}")

    def findings(self) -> dict[str, set[str]]:
        """Return the subjects of what the check of the cell finds."""
        return {
            found.code: set(found.subjects) for found in checked(self.port)
        }


class AdoptionTest(AdoptionCase):
    def test_rows_become_records_of_services_that_never_registered(
        self,
    ) -> None:
        instance = self.add_instance(1)
        every = range(1, 10)
        self.assertEqual(dict.fromkeys(every, ADOPTED), self.adopt(*every))
        self.assertEqual(
            ('stock', instance), (self.owner(1), self.instance(1))
        )
        self.assertEqual(
            [('host3', 0, False), ('stock', 0, False)],
            [(s.host, s.epoch, s.fenced) for s in self.records.services()],
        )
        self.assertEqual(
            {'host3': (2, 0), 'stock': (7, 1)}, self.records.counts()
        )
        self.assertEqual(9, len(self.cell.owners()))
        before = self.events()
        self.assertEqual({'req-1'}, {event.request_id for event in before})
        # Repeated, it changes nothing but what stock Nova has moved.
        self.assertEqual(dict.fromkeys(every, UNCHANGED), self.adopt(*every))
        self.assertEqual(before, self.events())
        self.give(2, 'host3')
        self.assertEqual({2: ADOPTED, 3: UNCHANGED}, self.adopt(2, 3))
        self.assertEqual('host3', self.owner(2))

    def test_service_that_gets_its_first_node_meanwhile_is_on_record(
        self,
    ) -> None:
        """Nova moves it after the hosts of the cell were read."""
        self.cell.add_services('new')
        lock = self.companion.lock

        def move(
            companion: companion.Cell, *args: Any
        ) -> linked_tables.LockedNodes:
            self.give(1, 'new')
            return lock(*args)

        with mock.patch.object(companion.Cell, 'lock', move):
            self.assertEqual({1: ADOPTED}, self.adopt(1))
        self.assertEqual({'new': (1, 0)}, self.records.counts())
        self.assertTrue(self.service('new').never_registered)

    def test_service_of_stock_nova_is_alive_by_its_heartbeats(self) -> None:
        self.adopt(1, 8)
        minute_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
            seconds=61
        )
        self.cell.set_service(
            'host3', last_seen_up=f'{minute_ago:%Y-%m-%d %H:%M:%S}'
        )
        self.assertEqual(
            {'host3': False, 'stock': True},
            {s.host: s.is_stock for s in self.records.services()},
        )
        # By the clock of the database, and of no other machine.
        wrong = mock.Mock(now=lambda zone: minute_ago.replace(year=2099))
        with mock.patch.object(locked_rows, 'datetime', wrong):
            self.assertTrue(self.service('stock').is_stock)
        # With the driver its membership counts.
        self.register('stock')
        self.assertFalse(self.service('stock').is_stock)

    def test_service_that_reads_changes_sees_what_is_adopted(self) -> None:
        self.register('host1')
        self.adopt(1, 8)
        cache = RecordCache(self.records, 'host1')

        def known() -> dict[str, model.ComputeNode]:
            services = {row.host: row for row in self.records.services()}
            return dict(cache.in_reach(model.Scope(), services))

        self.assertEqual(2, len(known()))
        instance = self.add_instance(1)
        self.adopt(1, 2, 9)
        with mock.patch.object(
            self.records, 'in_reach', side_effect=AssertionError
        ):
            found = known()
        self.assertEqual(
            {record.uuid: record for record in self.records.compute_nodes()},
            found,
        )
        self.assertEqual(4, len(found))
        self.assertEqual(instance, found[suite.uuid(1)].instance_uuid)

    def test_node_of_a_registered_service_is_not_touched(self) -> None:
        epoch = self.register('host1')
        self.applied('host1', suite.claim(1))
        self.give(1, 'stock')
        self.assertEqual({1: REFUSED, 2: ADOPTED}, self.adopt(1, 2))
        self.assertIn('owned', self.details[suite.uuid(1)])
        self.assertEqual('host1', self.owner(1))
        # For the check that no row names another owner.
        self.port.repair('host1', epoch, [suite.uuid(1)])
        # Nova builds it: its service records what Ironic has.
        self.add_instance(1, 'Host1')
        self.assertEqual({1: UNCHANGED}, self.adopt(1))
        self.assertIsNone(self.instance(1))

    def test_node_that_is_handed_over_is_not_touched(self) -> None:
        self.register('host1')
        self.applied('host1', suite.claim(1))
        node = moves.NodeMove(suite.uuid(1), 'host1')
        released = SqlMoves(self.database, self.companion).release
        for longest, state in ((60.0, REFUSED), (0.0, ADOPTED)):
            hand_over = moves.HandOver('req-2', 'operator', longest)
            self.assertEqual({}, released([node], hand_over))
            self.assertEqual({1: state}, self.adopt(1))
            with self.database.engine.connect() as conn:
                held = conn.scalar(sa.select(tables.compute_nodes.c.held_by))
            self.assertEqual('req-2' if state is REFUSED else None, held)

    def seen(self, number: int, host: str) -> records.Claim:
        """Return the claim of a node from the service that has it now."""
        epoch = self.service(host).epoch
        return suite.claim(number, seen_host=host, seen_epoch=epoch)

    def test_no_service_takes_a_node_of_one_that_never_registered(
        self,
    ) -> None:
        self.add_instance(4)
        self.adopt(1, 2, 4)
        self.register('host1')
        self.refused('host1', self.seen(1, 'stock'), self.seen(2, 'stock'))
        self.assertEqual(['stock'], self.in_cell(1))
        # An operator decides, in Nova, that it is gone.
        self.cell.set_service('stock', forced_down=True)
        self.assertEqual(['stock'], list(self.port.follow_settings('host1')))
        # A node with an instance stays nevertheless.
        self.refused('host1', self.seen(4, 'stock'))
        self.applied('host1', self.seen(1, 'stock'), self.seen(2, 'stock'))
        self.assertEqual(
            ['Host1', 'Host1', 'stock', 'stock'], self.in_cell(1, 2, 3, 4)
        )

    def test_returned_service_is_one_that_never_registered(self) -> None:
        self.adopt(8, 9)
        epoch = self.register('host3')
        self.assertGreater(epoch, 0)
        self.applied('host3', suite.claim(8, seen_host='host3'))
        self.assertTrue(self.port.return_service('host3', BY))
        self.assertFalse(self.port.return_service('host3', BY))
        found = self.service('host3')
        self.assertTrue(found.never_registered and found.fenced)
        self.assert_fenced('host3', epoch)
        self.register('host1')
        self.refused('host1', self.seen(8, 'host3'))
        # Stock Nova moves it, and another adoption follows.
        self.give(8, 'stock')
        self.assertEqual({8: ADOPTED}, self.adopt(8))
        with self.assertRaises(exceptions.NotFoundError):
            self.port.return_service('nosuch', BY)
        self.assertGreater(self.register('host3'), found.epoch)
        self.assertFalse(self.service('host3').never_registered)

    def test_rows_that_do_not_agree_are_found_and_refused(self) -> None:
        self.assertEqual({}, self.findings())
        self.add_instance(1, 'host3')
        self.add_instance(2)
        self.add_instance(2)
        self.write(3, "host = 'gone'")
        self.write(4, 'service_id = 999')
        self.write(5, "host = 'Stock'")
        self.write(6, f"uuid = '{uuid_.uuid4()}'")
        lasting = {
            *('half_moved', 'double_instances', 'no_service', 'uuid_differs'),
        }
        self.assertEqual(
            lasting | {'service_id_differs', 'case_twins'},
            self.findings().keys(),
        )
        self.assertEqual(
            {
                **dict.fromkeys((1, 2, 3, 6), REFUSED),
                **dict.fromkeys((4, 5, 7), ADOPTED),
            },
            self.adopt(*range(1, 8)),
        )
        self.assertEqual(lasting, self.findings().keys())
        self.cell.query(
            f'UPDATE {self.cell.schema}.instances SET deleted = id'
        )

    def test_node_with_a_second_row_is_left_out_as_the_dry_run_says(
        self,
    ) -> None:
        self.add_stray(1, 'host2')
        self.add_stray(2, 'host3')
        self.write(92, 'host = NULL')
        found = [
            one
            for one in checked(self.port)
            if one.prevents_adoption and one.code == 'uuid_differs'
        ]
        self.assertEqual(
            {suite.uuid(1), suite.uuid(2)},
            {subject for one in found for subject in one.subjects},
        )
        self.assertEqual(
            {1: REFUSED, 2: REFUSED, 3: ADOPTED}, self.adopt(1, 2, 3)
        )
        for number in (1, 2):
            self.assertIn('uuid_differs', self.details[suite.uuid(number)])
            self.assertIsNone(self.find(number))

    def test_row_without_a_uuid_or_a_name_stops_nothing(self) -> None:
        self.write(1, 'uuid = NULL')
        self.write(2, 'hypervisor_hostname = NULL')
        # A row without a name is of no node.
        self.assertNotIn(None, [row.name for row in self.port.read().nodes])
        self.assertEqual({'uuid_differs': {suite.uuid(1)}}, self.findings())
        self.assertEqual(
            [suite.uuid(1)], [row.name for row in self.port.stray_rows()]
        )
        self.assertEqual({1: REFUSED, 3: ADOPTED}, self.adopt(1, 3))


class FollowingTest(AdoptionCase):
    """Other programs have written rows of ``host1`` and of its nodes."""

    def setUp(self) -> None:
        super().setUp()
        for host in ('host1', 'host2'):
            self.register(host)
        self.applied('host1', suite.claim(1), suite.claim(2))

    def repair(self, later: int = 0) -> list[str]:
        epoch = self.epochs['host1'] + later
        return [*self.port.repair('host1', epoch, [suite.uuid(1)])]

    def test_free_row_is_corrected_by_its_owner(self) -> None:
        self.assertEqual([], list(self.port.drift('host1')))
        self.write(1, "host = 'stock'")
        (found,) = self.port.drift('host1')
        self.assertEqual(cell.Drift(suite.uuid(1), 'host1', 'stock'), found)
        self.assertIn('row_drifted', self.findings())
        with self.assertRaises(exceptions.FencedError):
            self.repair(later=-1)
        self.assertEqual([suite.uuid(1)], self.repair())
        self.assertEqual([], list(self.port.drift()))
        self.assertEqual(['Host1'], self.in_cell(1))

    def test_row_with_an_instance_elsewhere_is_reported_only(self) -> None:
        self.write(1, "host = 'stock'")
        instance = self.add_instance(1)
        (found,) = self.port.drift('host1')
        self.assertEqual(instance, found.instance_uuid)
        self.assertIn('row_drifted_deployed', self.findings())
        self.assertEqual([], self.repair())
        self.assertEqual(1, len(self.port.drift()))

    def follow(self) -> list[str]:
        return list(self.port.follow_settings('host2'))

    def test_service_that_is_forced_down_may_not_write(self) -> None:
        self.assertEqual([], self.follow())
        self.cell.set_service('host1', forced_down=True, disabled=True)
        # A process that does not read its row would still write.
        self.applied('host1', suite.claim(3))
        self.assertEqual(['host1'], self.follow())
        epoch = self.epochs['host1']
        self.assert_fenced('host1', epoch)
        events = self.events('service_forced_down')
        self.assertEqual(
            [('host2', 'host1')], [(e.actor, e.from_host) for e in events]
        )
        self.assertEqual([], self.follow())
        # It is up again.
        self.cell.set_service('host1', forced_down=False, disabled=False)
        self.assertEqual(['host1'], self.follow())
        self.assertGreater(self.register('host1'), epoch)
        self.assertEqual([], self.follow())
        # Nova has deleted it.
        self.cell.query(
            f'UPDATE {self.cell.schema}.services SET deleted = id, '
            "forced_down = TRUE WHERE LOWER(host) = 'host1'"
        )
        self.assertEqual([], self.follow())


class GrantsTest(unittest.TestCase):
    """A server of its own, with permissions."""

    before: tuple[str, ...] = ()
    """Permissions that are missing besides those on the tables."""

    def setUp(self) -> None:
        self.database = connection.open_database(self.make_account())
        self.addCleanup(self.database.close)
        self.companion = companion.Cell(self.cell.schema)
        self.port = port.SqlCell(self.database, self.companion)

    def make_account(self) -> str:
        """Make a cell; return the URL of a user without its permissions."""
        directory = databases.temporary_directory('grants')
        server = mariadb.MariaDB(directory)
        server.start()
        self.addCleanup(server.stop)
        self.cell = cells.NovaCell(server)
        server.create_database('ownership')
        with contextlib.closing(server._connect()) as opened:
            cursor = opened.cursor()
            # From here on permissions are checked.
            cursor.execute('FLUSH PRIVILEGES')
            for account in ("'root'@'127.0.0.1'", "'owner'@'%'"):
                cursor.execute(f'CREATE OR REPLACE USER {account}')
            cursor.execute(
                "GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION"
            )
            cursor.execute("GRANT ALL ON ownership.* TO 'owner'@'%'")
        return server.url('ownership').replace('root@', 'owner@')

    def test_each_missing_permission_is_named_with_its_statement(
        self,
    ) -> None:
        schema.upgrade(self.database)
        missing = self.port.missing_grants()
        self.assertEqual(
            [
                *self.before,
                f'SELECT on {self.cell.schema}.services',
                f'UPDATE (disabled) on {self.cell.schema}.services',
            ],
            [grant.what for grant in missing[: len(self.before) + 2]],
        )
        self.assertEqual(len(self.before) + 3 + 3 + 6 + 2, len(missing))
        found = checked(self.port)
        self.assertEqual({'grant_missing'}, {one.code for one in found})
        for grant in missing[:-1]:
            self.cell.query(grant.statement)
        (left,) = self.port.missing_grants()
        self.assertIn('UPDATE (updated_at)', left.what)
        self.cell.query(left.statement)
        self.assertEqual([], list(self.port.missing_grants()))
        self.assert_sufficient()

    def assert_sufficient(self) -> None:
        """Run every kind of statement with these permissions alone."""
        uuids = [suite.uuid(n) for n in (1, 2)]
        self.cell.add_services('host1', 'host2')
        self.cell.add_nodes('host1', uuids)
        self.cell.add_instances('host1', {uuids[0]: str(uuid_.uuid4())})
        nodes = {u: suite.node(n) for n, u in enumerate(uuids, start=1)}
        states = {n.state for n in self.port.adopt(nodes, BY)}
        self.assertEqual({ADOPTED}, states)
        stored = SqlRecords(self.database, self.companion)
        epoch = stored.register('host2', suite.SETTINGS)
        stored.set_service('host1', actor='operator', forced_down=True)
        moved = SqlMoves(self.database, self.companion)
        record = {n.uuid: n for n in stored.compute_nodes()}[uuids[0]]
        planned = [moves.NodeMove(uuids[0], 'host1', 1, record.instance_uuid)]
        moved.plan(moves.Move('req-1', 'host2', 'operator'), planned)
        (result,) = moved.carry_out('req-1', planned)
        self.assertIs(moves.NodeState.MOVED, result.state, result.detail)
        claim = suite.claim(2, seen_host='host1', seen_epoch=1)
        outcome = stored.apply('host2', epoch, [claim])
        self.assertEqual(1, len(outcome.applied))
        outcome = stored.apply('host2', epoch, [records.Delete(uuids[1])])
        self.assertEqual(1, len(outcome.applied))
        self.assertEqual({uuids[0]: 'host2'}, self.cell.owners())
        self.assertEqual([], self.cell.separated())
