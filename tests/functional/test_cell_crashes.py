"""Moves and adoptions next to a cell, killed at each of their statements."""

from __future__ import annotations

import functools
import itertools
import os
import signal
import uuid as uuid_
from collections.abc import Callable
from typing import Any

from sqlalchemy import event

from ironic_ownership.contracts import moves
from ironic_ownership.db import connection
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership_nova.cell import port
from ironic_ownership_nova.cell.model import State
from tests.contract.suites import records as suite
from tests.functional import test_cell

UUIDS = [suite.uuid(n) for n in (1, 2, 3)]
MOVED = moves.NodeState.MOVED


class _Killed(test_cell._WithCell, suite.RecordsContract):
    def killed_at(
        self, number: int, work: Callable[[connection.Database], Any]
    ) -> bool:
        """Run work in a process that is killed before a statement.

        :param number: of the statement; a commit counts as one.
        :returns: whether it was killed.
        """
        child = os.fork()
        if child == 0:
            status = 1
            try:
                database = connection.open_database(self.url)
                self.kill_before(number, database)
                work(database)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            self.assertEqual(signal.SIGKILL, os.WTERMSIG(status))
            return True
        self.assertEqual(0, os.WEXITSTATUS(status))
        return False

    @staticmethod
    def kill_before(number: int, database: connection.Database) -> None:
        left = itertools.count(number, -1)

        def count(*args: Any) -> None:
            if next(left) == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(database.engine, 'before_cursor_execute', count)
        event.listen(database.engine, 'commit', count)

    def owners(self) -> list[str | None]:
        """Return the owners on record, which are those in the cell."""
        found = {n.uuid: n.host for n in self.records.compute_nodes()}
        self.assertEqual([], self.cell.separated())
        for uuid, host in self.cell.owners().items():
            if uuid in found:
                self.assertEqual(found[uuid], host.lower())
        return [found.get(uuid) for uuid in UUIDS]


class KilledMoveTest(_Killed):
    def test_nodes_are_here_or_there_in_both_schemas(self) -> None:
        epoch = self.register('host1')
        self.register('host2')
        instance = str(uuid_.uuid4())
        self.assert_applied(
            'host1',
            epoch,
            suite.claim(1, instance_uuid=instance),
            suite.claim(2),
            suite.claim(3),
        )
        self.cell.add_instances('Host1', {UUIDS[0]: instance})
        places, seen = (
            itertools.cycle((('host1', 'host2'), ('host2', 'host1'))),
            set(),
        )
        for number in itertools.count(1):
            source, destination = next(places)
            request_id, nodes = self.plan(source, destination)
            killed = self.killed_at(
                number, functools.partial(self.carry_out, request_id, nodes)
            )
            owners = self.owners()
            self.assertIn(owners, ([source] * 3, [destination] * 3))
            seen.add((killed, owners[0] == destination))
            results = self.make_moves().carry_out(request_id, nodes)
            self.assertEqual({MOVED}, {result.state for result in results})
            self.assertEqual([destination] * 3, self.owners())
            if not killed:
                break
        self.assertEqual({(True, False), (False, True)}, seen)
        self.assertGreater(number, 15)

    def carry_out(
        self,
        request_id: str,
        nodes: list[moves.NodeMove],
        database: connection.Database,
    ) -> None:
        SqlMoves(database, self.companion).carry_out(request_id, nodes)

    def plan(
        self, source: str, destination: str
    ) -> tuple[str, list[moves.NodeMove]]:
        self.records.set_service(destination, actor='test', forced_down=False)
        self.register(destination)
        self.records.set_service(source, actor='test', forced_down=True)
        epoch = self.service(source).epoch
        nodes = [
            moves.NodeMove(n.uuid, n.host, epoch, n.instance_uuid)
            for n in self.records.compute_nodes()
        ]
        request_id = f'req-{uuid_.uuid4()}'
        self.make_moves().plan(
            moves.Move(request_id, destination, 'test'), nodes
        )
        return request_id, nodes


class KilledAdoptionTest(_Killed):
    def test_batch_is_adopted_or_not_and_can_be_repeated(self) -> None:
        self.cell.add_instances('stock', {UUIDS[0]: str(uuid_.uuid4())})
        # A row without the id of its service is completed.
        self.cell.query(
            f'UPDATE {self.cell.schema}.compute_nodes SET service_id = NULL '
            f"WHERE uuid = '{UUIDS[1]}'"
        )
        nodes = {suite.uuid(n): suite.node(n) for n in (1, 2, 3)}
        for number in itertools.count(1):
            killed = self.killed_at(
                number,
                lambda database: port.SqlCell(database, self.companion).adopt(
                    nodes, 'test'
                ),
            )
            self.assertEqual([None if killed else 'stock'] * 3, self.owners())
            if not killed:
                break
        self.assertGreater(number, 15)
        found = port.SqlCell(self.database, self.companion).adopt(
            nodes, 'test'
        )
        self.assertEqual({State.UNCHANGED}, {node.state for node in found})
        self.assertEqual({'stock': (3, 1)}, self.records.counts())
