"""Queries read few rows of tables that have many, on MariaDB."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from ironic_ownership.contracts import moves
from ironic_ownership.db import tables
from ironic_ownership_middleware.records import Records
from tests.contract import database
from tests.contract.suites import records as suite
from tests.functional.support import databases

ROWS = 3000
"""More than a query of single nodes may read."""

FEW = 100
"""Rows that it is allowed to read in each table."""


class IndexTest(database.MovesOnDatabase, suite.RecordsContract):
    """Nodes without an owner, and those of the tests."""

    def fresh_url(self) -> str:
        return databases.MARIADB.empty()

    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1')
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

    def rows_read(self, work: Callable[[], object]) -> dict[str, int]:
        """Return how many rows of each table some work reads."""
        name = sa.make_url(self.url).database
        assert name is not None
        return databases.MARIADB.rows_read(name, work)

    def test_request_that_names_no_node(self) -> None:
        reader = Records(self.url, 20)
        read = self.rows_read(lambda: reader.read('host1', [], []))
        self.assertEqual({'services': 1}, read)

    def test_request_that_names_a_node_by_its_uuid(self) -> None:
        reader = Records(self.url, 20)
        uuid = suite.uuid(ROWS)
        read = self.rows_read(lambda: reader.read('host1', [uuid], []))
        self.assertEqual({'services': 1, 'compute_nodes': 1}, read)

    def test_move_next_to_reservations(self) -> None:
        self.assert_applied('host1', self.epoch, suite.claim(1))
        self.register('host2')
        self.records.set_service('host1', actor='operator', forced_down=True)
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
        stored = self.make_moves()
        nodes = [moves.NodeMove(suite.uuid(1), 'host1', self.epoch)]

        def move() -> None:
            stored.plan(moves.Move('req-1', 'host2', 'operator'), nodes)
            (node,) = stored.carry_out('req-1', nodes)
            self.assertIs(moves.NodeState.MOVED, node.state, node.detail)

        read = self.rows_read(move)
        self.assertIn('compute_nodes', read)
        for table, rows in read.items():
            self.assertLess(rows, FEW, table)
