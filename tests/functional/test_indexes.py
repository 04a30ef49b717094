"""Statements read few rows of tables that have many, on MariaDB."""

from __future__ import annotations

import uuid as uuid_
from collections.abc import Callable

import sqlalchemy as sa

from ironic_ownership.contracts import moves
from ironic_ownership.db import tables
from ironic_ownership_middleware.records import Records
from ironic_ownership_nova.cell import port
from tests.contract import database
from tests.contract.suites import records as suite
from tests.functional import test_cell
from tests.functional.support import databases

ROWS = 3000
"""More than a transaction of single nodes may read."""

FEW = 100
"""Rows that it is allowed to read in each table."""


class _Case(database.RecordsOnDatabase, suite.RecordsContract):
    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1')
        self.register('host2')

    def read_schema(self) -> str:
        """Return the schema whose rows are counted."""
        return str(sa.make_url(self.url).database)

    def rows_read(self, work: Callable[[], object]) -> dict[str, int]:
        """Return how many rows of each table some work reads."""
        return databases.MARIADB.rows_read(self.read_schema(), work)

    def assert_reads_few(self, work: Callable[[], object]) -> None:
        read = self.rows_read(work)
        for table, rows in read.items():
            self.assertLess(rows, FEW, table)
        self.assertIn('compute_nodes', read)

    def claim(self) -> None:
        claims = (suite.claim(1), suite.claim(2))
        self.assert_applied('host1', self.epoch, *claims)

    def assert_move_reads_few(self) -> None:
        """Move the two nodes of ``host1``."""
        self.records.set_service('host1', actor='operator', forced_down=True)
        stored = self.make_moves()
        ours = [suite.uuid(n) for n in (1, 2)]
        nodes = [moves.NodeMove(u, 'host1', self.epoch) for u in ours]

        def move() -> None:
            stored.open_instances(ours)
            stored.plan(moves.Move('req-1', 'host2', 'operator'), nodes)
            for node in stored.carry_out('req-1', nodes):
                self.assertIs(moves.NodeState.MOVED, node.state, node.detail)

        self.assert_reads_few(move)


class IndexTest(_Case):
    """Nodes without an owner, and those of the tests."""

    def fresh_url(self) -> str:
        return databases.MARIADB.empty()

    def setUp(self) -> None:
        super().setUp()
        node = {'driver': 'ipmi', 'conductor_group': '', 'reason': 'unowned'}
        times = {'created_at': 0, 'updated_at': 0}
        self.fill(
            tables.compute_nodes,
            [
                {'uuid': suite.uuid(ROWS + n), **node, **times}
                for n in range(ROWS)
            ],
        )

    def fill(self, table: sa.Table, rows: list[dict[str, object]]) -> None:
        """Add rows to a table whose size the server then knows."""
        analysis = sa.text(f'ANALYZE TABLE {table.name}')
        self.database.write(lambda conn: conn.execute(sa.insert(table), rows))
        self.database.write(lambda conn: conn.execute(analysis).all())

    def test_request_to_ironic(self) -> None:
        reader = Records(self.url, 20)
        for uuids, expected in (
            ([], {'services': 1}),
            ([suite.uuid(ROWS)], {'services': 1, 'compute_nodes': 1}),
        ):
            read = self.rows_read(lambda u=uuids: reader.read('host1', u, []))
            self.assertEqual(expected, read)

    def test_move_next_to_reservations(self) -> None:
        self.claim()
        form = {'method': 'allocation', 'request': '{}', 'confirmed': False}
        times = {'created_at': 0, 'updated_at': 0}
        self.fill(
            tables.reservations,
            [
                {
                    'id': suite.uuid(n),
                    'instance_uuid': suite.uuid(n),
                    'open_instance_uuid': suite.uuid(n) if n < ROWS else None,
                    # Closed ones are of the node that moves.
                    'node_uuid': suite.uuid(ROWS + n if n < ROWS else 1),
                    'host': 'host1',
                    'state': 'x',
                    **form,
                    **times,
                }
                for n in range(2 * ROWS)
            ],
        )
        self.assert_move_reads_few()


class CellIndexTest(test_cell.WithCell, _Case):
    """A cell of some hosts, in which every node has had instances."""

    def setUp(self) -> None:
        super().setUp()
        # So many that to read each one's nodes would cost more than all.
        self.cell.add_services(*(f'idle{n}' for n in range(20)))
        others = [str(uuid_.uuid4()) for _ in range(ROWS)]
        for _ in range(3):
            self.cell.query(
                f'UPDATE {self.cell.schema}.instances SET deleted = id'
            )
            self.cell.add_instances(
                'stock', {uuid: str(uuid_.uuid4()) for uuid in others}
            )
        self.cell.add_nodes('stock', others)
        for table in ('services', 'compute_nodes', 'instances'):
            self.cell.query(f'ANALYZE TABLE {self.cell.schema}.{table}')

    def read_schema(self) -> str:
        return self.cell.schema

    def test_life_of_a_service(self) -> None:
        self.assert_reads_few(self.claim)
        cell = port.SqlCell(self.database, self.companion)
        # As each of its refreshes does.
        self.assert_reads_few(lambda: cell.drift('host1'))
        self.assert_move_reads_few()
        self.assert_reads_few(
            lambda: self.records.delete_service('host1', actor='operator')
        )
