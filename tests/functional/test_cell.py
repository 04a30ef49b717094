"""Owners on record and rows of a Nova cell change together, on MariaDB."""

from __future__ import annotations

import functools
import unittest
import uuid as uuid_

import sqlalchemy as sa

from ironic_ownership.contracts import exceptions, moves, records
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import connection, schema
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from ironic_ownership_nova.cell import companion
from tests.contract import database
from tests.contract.suites import (
    hand_overs,
    record_claims,
    record_operators,
    standing_orders,
)
from tests.contract.suites import moves as move_suite
from tests.contract.suites import records as suite
from tests.contract.suites import removals as removal_suite
from tests.functional.support import cells, databases

REFUSED = moves.NodeState.REFUSED
HOSTS = ('host1', 'host2', 'host3')


@functools.cache
def _cell() -> cells.NovaCell:
    """Return the cell that tests share, one after the other."""
    return cells.NovaCell(databases.MARIADB.server)


class WithCell(database.RecordsOnDatabase):
    """The records next to a cell that has rows of nodes and services."""

    def fresh_url(self) -> str:
        url = self.make_cell()
        self.cell.add_services('Host1', *HOSTS[1:], 'stock')
        self.cell.add_nodes('stock', [suite.uuid(n) for n in range(1, 8)])
        return url

    def make_cell(self) -> str:
        """Make a cell; return the URL of a database next to it."""
        self.cell = _cell()
        self.cell.clear()
        return databases.MARIADB.empty()

    @property
    def companion(self) -> companion.Cell:
        return companion.Cell(self.cell.schema)

    def make_records(self) -> SqlRecords:
        return SqlRecords(self.database, self.companion)

    def make_moves(self) -> SqlMoves:
        return SqlMoves(self.database, self.companion)

    def write(self, number: int, values: str) -> None:
        """Write columns of the row of a node, as another program does."""
        self.cell.query(
            f'UPDATE {self.cell.schema}.compute_nodes SET {values} '
            f"WHERE uuid = '{suite.uuid(number)}'"
        )

    def add_instance(self, number: int, host: str = 'stock') -> str:
        """Add an instance on a node to the cell; return its uuid."""
        instance = str(uuid_.uuid4())
        self.cell.add_instances(host, {suite.uuid(number): instance})
        return instance

    def add_stray(self, number: int, host: str) -> None:
        """Add a row with the name of a node and another uuid."""
        self.cell.add_nodes(host, [suite.uuid(90 + number)])
        self.write(
            90 + number, f"hypervisor_hostname = '{suite.uuid(number)}'"
        )

    def in_cell(self, *numbers: int) -> list[str | None]:
        """Return the owners of nodes in the cell."""
        owners = self.cell.owners()
        return [owners.get(suite.uuid(number)) for number in numbers]

    def tearDown(self) -> None:
        owners = {u: h.lower() for u, h in self.cell.owners().items()}
        for node in self.make_records().compute_nodes():
            if node.host is not None and node.uuid in owners:
                self.assertIn(owners[node.uuid], (node.host, 'stock'))
        self.assertEqual([], self.cell.separated())
        super().tearDown()


def _next_to_cell(contract: type) -> type:
    name = contract.__name__.replace('Contract', 'sNextToCellTest')
    return type(name, (WithCell, contract), {})


globals().update(
    (one.__name__, one)
    for one in map(
        _next_to_cell,
        (
            record_claims.ClaimContract,
            move_suite.MoveContract,
            standing_orders.StandingOrderContract,
            hand_overs.HandOverContract,
            record_operators.OperatorContract,
            removal_suite.RemovalContract,
        ),
    )
)


class CellTest(WithCell, suite.RecordsContract):
    """``host1`` owns the nodes 1 to 4; 1 and 2 have an instance."""

    def setUp(self) -> None:
        super().setUp()
        for host in HOSTS[:2]:
            self.register(host)
        self.on = {n: str(uuid_.uuid4()) for n in (1, 2)}
        self.applied(
            'host1',
            *(
                suite.claim(n, instance_uuid=self.on.get(n))
                for n in range(1, 5)
            ),
        )
        self.cell.add_instances(
            'Host1', {suite.uuid(n): u for n, u in self.on.items()}
        )

    def move(
        self, *numbers: int, to: str = 'host2', instance: str | None = None
    ) -> list[str | None]:
        """Move nodes; return why they are refused.

        :param instance: that moves with them, if the record has another.
        """
        stored, request_id = self.make_moves(), f'req-{uuid_.uuid4()}'
        nodes = []
        for number in numbers:
            found = self.record(number)
            epoch = self.service(found.host).epoch if found.host else None
            nodes.append(
                moves.NodeMove(
                    *(found.uuid, found.host, epoch),
                    instance or found.instance_uuid,
                )
            )
        stored.plan(moves.Move(request_id, to, 'operator'), nodes)
        return [
            result.detail if result.state is REFUSED else None
            for result in stored.carry_out(request_id, nodes)
        ]

    def begin_deletion(self, number: int) -> str | None:
        return self.records.begin_deletion(
            suite.uuid(number),
            records.SeenOwner('host1', self.epochs['host1']),
        )

    def stop(self) -> None:
        self.records.set_service('host1', actor='operator', forced_down=True)

    def test_claim_gives_the_row_to_the_service_in_its_spelling(self) -> None:
        self.assertEqual(['Host1', 'stock'], self.in_cell(3, 5))
        mapped = self.cell.query(
            f'SELECT mapped, COUNT(*) FROM {self.cell.schema}.compute_nodes '
            "WHERE LOWER(host) = 'host1' GROUP BY mapped"
        )
        self.assertEqual([(0, 4)], mapped)
        # Nova deleted it.
        self.write(5, 'deleted = id, deleted_at = CURRENT_TIMESTAMP')
        self.assertEqual([None], self.in_cell(5))
        self.applied('host1', suite.claim(5))
        self.assertEqual(['Host1'], self.in_cell(5))

    def test_claim_that_the_cell_does_not_confirm_is_refused(self) -> None:
        # Nova is building it: Ironic does not know the instance yet.
        self.add_instance(5)
        claims = suite.claim(5), suite.claim(6)
        outcome = self.apply('host1', self.epochs['host1'], *claims)
        self.assertEqual((claims[0],), outcome.refused)
        self.assertEqual(['stock', 'Host1'], self.in_cell(5, 6))
        self.assertIsNone(self.find(5))
        # A service that the cell does not have.
        self.register('host4')
        self.refused('host4', suite.claim(7))
        # A node that Nova does not know yet has no row to write.
        self.applied('host4', suite.claim(9))

    def test_second_row_of_a_node_keeps_no_other_node_from_its_owner(
        self,
    ) -> None:
        # Nova allows one row for a name and a host.
        self.add_stray(5, 'Host1')
        claims = suite.claim(5), suite.claim(6)
        outcome = self.apply('host1', self.epochs['host1'], *claims)
        self.assertEqual((claims[0],), outcome.refused)
        self.applied('host2', suite.claim(5))
        self.add_stray(3, 'host2')
        self.stop()
        refused, moved = self.move(3, 4)
        self.assertIsNone(moved)
        self.assertIn('cell_row', refused or '')
        self.assertEqual(['Host1'], self.in_cell(3))

    def test_preview_reads_what_the_transaction_will_refuse(self) -> None:
        self.add_stray(3, 'host2')
        self.register('host4')
        found = self.make_moves().objections(
            {
                suite.uuid(2): 'host4',
                suite.uuid(3): 'host2',
                suite.uuid(4): 'host2',
            }
        )
        self.assertEqual(
            {suite.uuid(2): 'cell_service', suite.uuid(3): 'cell_row'},
            {uuid: line.split(':')[0] for uuid, line in found.items()},
        )
        self.stop()
        for number, to in ((2, 'host4'), (3, 'host2')):
            line = found[suite.uuid(number)]
            self.assertEqual([line], self.move(number, to=to))

    def test_node_is_released_and_deleted_only_as_the_cell_has_it(
        self,
    ) -> None:
        self.add_instance(3, 'Host1')
        self.refused('host1', records.Release(suite.uuid(3)))
        self.refused('host1', records.Delete(suite.uuid(3)))
        # Before its provider would have gone.
        self.refused('host1', records.BeginDeletion(suite.uuid(3)))
        self.assertIn('cell_instance', self.begin_deletion(3) or '')
        self.assertEqual(['Host1'], self.in_cell(3))
        self.write(4, "host = 'stock'")
        self.refused('host1', records.Delete(suite.uuid(4)))

    def test_forgotten_node_is_deleted_in_the_cell(self) -> None:
        self.applied('host1', records.Delete(suite.uuid(3)))
        self.assertIsNone(self.begin_deletion(4))
        self.assertEqual([None, 'Host1'], self.in_cell(3, 4))
        self.assertTrue(
            self.records.remove(
                suite.uuid(4),
                records.SeenOwner('host1', self.epochs['host1']),
                Origin('operator'),
            )
        )
        self.assertEqual([None], self.in_cell(4))

    def test_move_takes_row_and_instance_along(self) -> None:
        # Another program left a move unfinished.
        self.write(1, "host = 'host2'")
        self.assertEqual(1, len(self.cell.separated()))
        self.stop()
        self.assertEqual([None] * 3, self.move(1, 2, 3))
        self.assertEqual(
            {suite.uuid(1): 'host2', suite.uuid(2): 'host2'},
            self.cell.hosts_of_instances(),
        )
        self.assertEqual(['host2', 'Host1'], self.in_cell(3, 4))

    def test_move_is_one_transaction_of_both_schemas(self) -> None:
        """A process that is killed leaves the nodes here or there."""
        self.stop()
        owners = []

        def commit(conn: sa.Connection) -> None:
            owners.append(self.in_cell(1, 2, 3))

        engine = self.database.engine
        sa.event.listen(engine, 'commit', commit)
        self.addCleanup(sa.event.remove, engine, 'commit', commit)
        self.assertEqual([None] * 3, self.move(1, 2, 3))
        # The plan is one, and the move another.
        self.assertEqual([['Host1'] * 3] * 2, owners)

    def test_move_refuses_what_the_cell_does_not_confirm(self) -> None:
        building, second = (self.add_instance(n, 'Host1') for n in (3, 2))
        found = self.make_moves().open_instances([suite.uuid(2)])
        self.assertEqual({self.on[2], second}, set(found[suite.uuid(2)]))
        self.stop()
        moved, double, unknown = self.move(1, 2, 3)
        self.assertIsNone(moved)
        self.assertIn('at_most_one_instance', double or '')
        self.assertIn(building, unknown or '')
        self.register('host4')
        self.assertIn('cell_service', self.move(4, to='host4')[0] or '')

    def test_service_that_nova_closed_gets_nothing(self) -> None:
        self.stop()
        for closed, text in (
            ({'disabled': True}, 'host2 was disabled'),
            (
                {'disabled': False, 'forced_down': True},
                'host2 was forced down',
            ),
        ):
            self.cell.set_service('host2', **closed)
            (detail,) = self.move(1)
            self.assertEqual(f'destination_enabled: {text}', detail)

    def test_move_records_the_instance_that_only_the_cell_has(self) -> None:
        # The owner died before it recorded it, and the end of another one.
        self.cell.query(
            f'UPDATE {self.cell.schema}.instances SET deleted = id '
            f"WHERE uuid = '{self.on[2]}'"
        )
        new, replacing = (self.add_instance(n, 'Host1') for n in (3, 2))
        self.stop()
        # It has to be in the cell under the locks.
        (detail,) = self.move(4, instance=new)
        self.assertIn('instance_changed', detail or '')
        for number, instance in ((3, new), (2, replacing)):
            self.assertEqual([None], self.move(number, instance=instance))
            self.assertEqual(
                ('host2', instance),
                (self.owner(number), self.instance(number)),
            )
            self.assertEqual(
                'host2', self.cell.hosts_of_instances()[suite.uuid(number)]
            )
        self.assertEqual([], self.make_moves().separated())
        self.assertEqual(
            [
                (EventKind.INSTANCE_OPENED, replacing, None, 'host2'),
                (EventKind.INSTANCE_CLOSED, self.on[2], 'host1', None),
            ],
            [
                (e.kind, e.instance_uuid, e.from_host, e.to_host)
                for e in self.events(node_uuid=suite.uuid(2))
                if e.request_id and e.kind != EventKind.NODE_MOVED
            ],
        )

    def test_row_of_another_type_is_not_moved(self) -> None:
        self.write(1, "hypervisor_type = 'QEMU'")
        self.stop()
        stored, uuid = self.make_moves(), suite.uuid(1)
        to_host2 = {uuid: 'host2', suite.uuid(2): 'host2'}
        self.assertEqual({uuid}, {*stored.objections(to_host2)})
        self.assertIn('is_ironic', self.move(1)[0] or '')
        self.assertEqual(['Host1'], self.in_cell(1))
        self.assertEqual('Host1', self.cell.hosts_of_instances()[uuid])
        self.assertEqual('host1', self.owner(1))
        self.write(1, "hypervisor_type = 'ironic'")
        self.assertEqual({}, stored.objections(to_host2))
        self.assertEqual([None], self.move(1))

    def test_settings_of_a_service_are_those_of_the_cell(self) -> None:
        self.records.set_service(
            'host1', actor='operator', disabled=True, disabled_reason='rack'
        )
        self.assertEqual(
            [(1, 'rack', 0)],
            self.cell.query(
                'SELECT disabled, disabled_reason, forced_down FROM '
                f"{self.cell.schema}.services WHERE LOWER(host) = 'host1'"
            ),
        )
        self.records.set_service('host1', actor='operator', disabled=False)
        self.assert_settings(False, None, False)
        self.cell.set_service(
            'host1', disabled=True, disabled_reason='by Nova', forced_down=True
        )
        self.assert_settings(True, 'by Nova', True)
        both = self.records.service_and_node('host1', suite.uuid(1))
        self.assertTrue(both[0] and both[0].forced_down)
        epoch = self.epochs['host1']
        with self.assertRaises(exceptions.FencedError):
            self.register('host1')
        # The next setting fences a service that Nova forced down.
        self.records.set_service('host1', actor='follower')
        found = self.service('host1')
        self.assertTrue(found.fenced)
        self.assertGreater(found.epoch, epoch)

    def assert_settings(self, *expected: object) -> None:
        found = self.service('host1')
        self.assertEqual(
            expected,
            (found.disabled, found.disabled_reason, found.forced_down),
        )

    def test_service_that_the_cell_still_names_is_not_deleted(self) -> None:
        self.register('stock')
        self.add_instance(7)
        with self.assertRaises(exceptions.ServiceInUseError) as caught:
            self.records.delete_service('stock', actor='operator')
        self.assert_has(caught.exception, compute_nodes=3, instances=1)
        self.register('host3')
        self.records.delete_service('host3', actor='operator')


class WithoutCellTest(unittest.TestCase):
    def test_schema_without_a_cell_is_an_error_that_names_it(self) -> None:
        url = databases.MARIADB.fresh()
        opened = connection.open_database(url)
        self.addCleanup(opened.close)
        schema.upgrade(opened)
        stored = SqlRecords(opened, companion.Cell('missing'))
        with self.assertRaisesRegex(exceptions.RecordsError, 'missing'):
            stored.services()
