"""Transactions read few rows of a Nova cell that has many, on MariaDB."""

from __future__ import annotations

import uuid as uuid_
from collections.abc import Callable

from ironic_ownership.contracts import moves
from ironic_ownership_nova.cell import port
from tests.contract.suites import records as suite
from tests.functional import test_cell
from tests.functional.support import databases

NODES = 3000
"""More than a transaction of two nodes may read."""

FEW = 100
"""Rows that two nodes and their host are allowed to read in each table."""


class IndexTest(test_cell._WithCell, suite.RecordsContract):
    """A cell of some hosts, in which every node has had instances."""

    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1')
        self.register('host2')
        self.ours = [suite.uuid(n) for n in (1, 2)]
        # So many that to read each one's nodes would cost more than all.
        self.cell.add_services(*(f'idle{n}' for n in range(20)))
        others = [str(uuid_.uuid4()) for _ in range(NODES)]
        for _ in range(2):
            self.cell.add_instances(
                'stock', {uuid: str(uuid_.uuid4()) for uuid in others}
            )
            self.cell.query(
                f'UPDATE {self.cell.schema}.instances SET deleted = id'
            )
        self.cell.add_nodes('stock', others)
        self.cell.add_instances(
            'stock', {uuid: str(uuid_.uuid4()) for uuid in others}
        )
        for table in ('services', 'compute_nodes', 'instances'):
            self.cell.query(f'ANALYZE TABLE {self.cell.schema}.{table}')

    def assert_reads_few(self, work: Callable[[], object]) -> None:
        """Assert that some work reads few rows of the cell."""
        read = databases.MARIADB.rows_read(self.cell.schema, work)
        for table, rows in read.items():
            self.assertLess(rows, FEW, table)
        self.assertIn('compute_nodes', read)

    def claim(self) -> None:
        claims = (suite.claim(1), suite.claim(2))
        self.assert_applied('host1', self.epoch, *claims)

    def test_claim(self) -> None:
        self.assert_reads_few(self.claim)

    def test_move(self) -> None:
        self.claim()
        self.records.set_service('host1', actor='operator', forced_down=True)
        stored = self.make_moves()
        nodes = [moves.NodeMove(u, 'host1', self.epoch) for u in self.ours]

        def move() -> None:
            stored.open_instances(self.ours)
            stored.plan(moves.Move('req-1', 'host2', 'operator'), nodes)
            for node in stored.carry_out('req-1', nodes):
                self.assertIs(moves.NodeState.MOVED, node.state, node.detail)

        self.assert_reads_few(move)

    def test_refresh_of_a_service(self) -> None:
        self.claim()
        cell = port.SqlCell(self.database, self.companion)
        self.assert_reads_few(lambda: cell.drift('host1'))

    def test_deletion_of_a_service(self) -> None:
        self.register('host3')
        self.assert_reads_few(
            lambda: self.records.delete_service('host3', actor='operator')
        )
