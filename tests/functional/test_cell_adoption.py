"""Adoption of a Nova cell, drift of its rows, permissions, on MariaDB."""

from __future__ import annotations

import contextlib
import unittest
import uuid as uuid_

from ironic_ownership.contracts import cell, exceptions, moves
from ironic_ownership.contracts.records import Forget
from ironic_ownership.db import connection, schema
from ironic_ownership.db.cell import companion, port
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.operations import check_cell
from lab import mariadb
from tests.contract.suites import records as suite
from tests.functional import test_cell
from tests.functional.support import cells, databases

ADOPTED, UNCHANGED = cell.AdoptionState.ADOPTED, cell.AdoptionState.UNCHANGED
REFUSED = cell.AdoptionState.REFUSED


class AdoptionCase(test_cell._WithCell, suite.RecordsContract):
    """A cell of stock Nova: ``stock`` has nodes 1 to 7, ``host3`` 8 and 9."""

    def setUp(self) -> None:
        super().setUp()
        self.cell.add_nodes('host3', [suite.uuid(8), suite.uuid(9)])
        self.port = port.SqlCell(self.database, self.companion)

    def adopt(self, *numbers: int) -> dict[int, cell.AdoptionState]:
        nodes = {
            suite.uuid(n): None if n == 9 else suite.node(n) for n in numbers
        }
        found = self.port.adopt(nodes, 'operator')
        self.details = {node.uuid: node.detail for node in found}
        return {
            n: node.state
            for n, node in zip(sorted(numbers), found, strict=True)
        }

    def write(self, number: int, **values: object) -> None:
        columns = ', '.join(f'{name} = {v!r}' for name, v in values.items())
        self.cell.query(
            f'UPDATE {self.cell.schema}.compute_nodes SET {columns} '
            f"WHERE hypervisor_hostname = '{suite.uuid(number)}'"
        )

    def codes(self) -> set[str]:
        return {f.code for f in check_cell.CheckCell(self.port).run()}


class AdoptionTest(AdoptionCase):
    def test_rows_become_records_of_services_that_never_registered(
        self,
    ) -> None:
        instance = str(uuid_.uuid4())
        self.cell.add_instances('stock', {suite.uuid(1): instance})
        self.assertEqual(
            dict.fromkeys(range(1, 10), ADOPTED), self.adopt(*range(1, 10))
        )
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            ('stock', instance), (found.host, found.instance_uuid)
        )
        self.assertEqual(
            [('host3', 0, False), ('stock', 0, False)],
            [(s.host, s.epoch, s.fenced) for s in self.records.services()],
        )
        self.assertEqual({'host3': (2, 0), 'stock': (7, 1)}, self.counts())
        self.assertEqual(9, len(self.cell.owners()))

    def counts(self) -> dict[str | None, tuple[int, int]]:
        return self.records.counts()

    def test_repeated_it_changes_nothing(self) -> None:
        self.adopt(*range(1, 8))
        before = self.records.events()
        self.assertEqual(
            dict.fromkeys(range(1, 8), UNCHANGED), self.adopt(*range(1, 8))
        )
        self.assertEqual(list(before), list(self.records.events()))

    def test_repeated_it_follows_what_stock_nova_moved(self) -> None:
        self.adopt(1, 2)
        self.write(1, host='host3', service_id=self.service_id('host3'))
        self.assertEqual({1: ADOPTED, 2: UNCHANGED}, self.adopt(1, 2))
        found = self.find(1)
        assert found is not None
        self.assertEqual('host3', found.host)

    def service_id(self, host: str) -> int:
        ((found,),) = self.cell.query(
            f"SELECT id FROM {self.cell.schema}.services WHERE host = '{host}'"
        )
        return int(found)

    def test_node_of_a_registered_service_is_not_touched(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, suite.claim(1))
        self.write(1, host='stock', service_id=self.service_id('stock'))
        self.assertEqual({1: REFUSED, 2: ADOPTED}, self.adopt(1, 2))
        self.assertIn('owned', self.details[suite.uuid(1)] or '')
        found = self.find(1)
        assert found is not None
        self.assertEqual('host1', found.host)
        # For the check that no row names another owner.
        self.port.repair('host1', epoch, [suite.uuid(1)])

    def test_adopted_service_registers_and_owns_its_nodes(self) -> None:
        self.adopt(8)
        epoch = self.register('host3')
        self.assertGreater(epoch, 0)
        outcome = self.records.apply(
            'host3', epoch, [suite.claim(8, seen_host='host3')]
        )
        self.assertEqual(1, len(outcome.applied))

    def test_rows_that_do_not_agree_are_found_and_refused(self) -> None:
        self.assertEqual(set(), self.codes())
        one, two = str(uuid_.uuid4()), str(uuid_.uuid4())
        self.cell.add_instances('host3', {suite.uuid(1): one})
        self.cell.add_instances('stock', {suite.uuid(2): two})
        self.cell.add_instances('stock', {suite.uuid(2): str(uuid_.uuid4())})
        self.write(3, host='gone')
        self.write(4, service_id=999)
        self.write(5, host='Stock')
        self.write(6, uuid=str(uuid_.uuid4()))
        self.assertEqual(
            {
                *('half_moved', 'double_instances', 'no_service'),
                *('service_id_differs', 'case_twins', 'uuid_differs'),
            },
            self.codes(),
        )
        self.assertEqual(
            {
                **dict.fromkeys((1, 2, 3, 6), REFUSED),
                **dict.fromkeys((4, 5, 7), ADOPTED),
            },
            self.adopt(*range(1, 8)),
        )
        self.assertEqual(
            {'half_moved', 'double_instances', 'no_service', 'uuid_differs'},
            self.codes(),
        )
        self.cell.query(
            f'UPDATE {self.cell.schema}.instances SET deleted = id'
        )


class DriftTest(AdoptionCase):
    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1')
        self.assert_applied(
            'host1', self.epoch, *(suite.claim(n) for n in (1, 2))
        )

    def test_free_row_is_corrected_by_its_owner(self) -> None:
        self.assertEqual([], list(self.port.drift('host1')))
        self.write(1, host='stock')
        (found,) = self.port.drift('host1')
        self.assertEqual(cell.Drift(suite.uuid(1), 'host1', 'stock'), found)
        self.assertIn('row_drifted', self.codes())
        self.assertEqual(
            [suite.uuid(1)],
            list(self.port.repair('host1', self.epoch, [suite.uuid(1)])),
        )
        self.assertEqual([], list(self.port.drift()))
        self.assertEqual('Host1', self.cell.owners()[suite.uuid(1)])

    def test_row_with_an_instance_elsewhere_is_reported_only(self) -> None:
        instance = str(uuid_.uuid4())
        self.write(1, host='stock')
        self.cell.add_instances('stock', {suite.uuid(1): instance})
        (found,) = self.port.drift('host1')
        self.assertEqual(instance, found.instance_uuid)
        self.assertIn('row_drifted_deployed', self.codes())
        self.assertEqual(
            [], list(self.port.repair('host1', self.epoch, [suite.uuid(1)]))
        )
        self.assertEqual(1, len(self.port.drift()))

    def test_owner_that_was_fenced_corrects_nothing(self) -> None:
        self.write(1, host='stock')
        with self.assertRaises(exceptions.FencedError):
            self.port.repair('host1', self.epoch - 1, [suite.uuid(1)])


class GrantsTest(unittest.TestCase):
    """A server of its own, with permissions."""

    def setUp(self) -> None:
        directory = databases.temporary_directory('grants')
        self.server = mariadb.MariaDB(directory)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.cell = cells.NovaCell(self.server)
        self.server.create_database('ownership')
        with contextlib.closing(self.server._connect()) as opened:
            cursor = opened.cursor()
            # From here on permissions are checked.
            cursor.execute('FLUSH PRIVILEGES')
            for account in ("'root'@'127.0.0.1'", "'owner'@'%'"):
                cursor.execute(f'CREATE OR REPLACE USER {account}')
            cursor.execute(
                "GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION"
            )
            cursor.execute("GRANT ALL ON ownership.* TO 'owner'@'%'")
        url = self.server.url('ownership').replace('root@', 'owner@')
        self.database = connection.open_database(url)
        self.addCleanup(self.database.close)
        self.companion = companion.Cell(self.cell.schema)
        self.port = port.SqlCell(self.database, self.companion)

    def test_each_missing_permission_is_named_with_its_statement(
        self,
    ) -> None:
        schema.upgrade(self.database)
        missing = self.port.missing_grants()
        self.assertEqual(
            [
                f'SELECT on {self.cell.schema}.services',
                f'UPDATE (disabled) on {self.cell.schema}.services',
            ],
            [grant.what for grant in missing[:2]],
        )
        self.assertEqual(3 + 3 + 6 + 2, len(missing))
        found = check_cell.CheckCell(self.port).run()
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
        states = {n.state for n in self.port.adopt(nodes, 'operator')}
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
        outcome = stored.apply('host2', epoch, [Forget(uuids[1])])
        self.assertEqual(1, len(outcome.applied))
        self.assertEqual({uuids[0]: 'host2'}, self.cell.owners())
        self.assertEqual([], self.cell.separated())
