"""Moves of the same nodes at once, on real database servers."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, moves
from ironic_ownership.contracts.records import Update
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from tests.contract import database
from tests.contract.suites import records as suite
from tests.functional.support import databases, laws

NODES = range(1, 61)
FREE = [n for n in NODES if n % 2 == 0][:20]
TIMEOUT = 180.0


class Race:
    """``old`` owns all nodes, is disabled, and is still at work."""

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.records = SqlRecords(self.database)
        self.epoch = self.records.register('old', suite.SETTINGS)
        for host in ('one', 'two'):
            self.records.register(host, suite.SETTINGS)
        self.records.apply(
            'old',
            self.epoch,
            [
                suite.claim(
                    n, instance_uuid=suite.uuid(1000 + n) if n % 2 else None
                )
                for n in NODES
            ],
        )
        self.records.set_service('old', actor='test', disabled=True)
        self.failures: list[Exception] = []

    def mover(self, to: str, backwards: bool) -> Callable[[], None]:
        """Plan a move of all nodes; return what carries it out in batches."""
        opened = self.open_database()
        self.addCleanup(opened.close)
        stored = SqlMoves(opened)
        nodes = [
            moves.NodeMove(
                r.uuid, 'old', self.epoch, instance_uuid=r.instance_uuid
            )
            for r in sorted(
                self.records.compute_nodes(),
                key=lambda r: r.uuid,
                reverse=backwards,
            )
        ]
        request_id = f'req-{to}'
        stored.plan(moves.Move(request_id, to, 'test'), nodes)

        def carry_out() -> None:
            for start in range(0, len(nodes), 5):
                stored.carry_out(request_id, nodes[start : start + 5])

        return carry_out

    def source(self) -> None:
        """Write as long as it may, which is not for ever."""
        opened = self.open_database()
        self.addCleanup(opened.close)
        records = SqlRecords(opened)
        deadline = time.monotonic() + TIMEOUT
        try:
            for round_ in itertools.count():
                self.assertLess(time.monotonic(), deadline, 'never fenced')
                records.apply(
                    'old',
                    self.epoch,
                    [
                        Update(suite.node(n, name=f'n{n} round {round_}'))
                        for n in NODES
                        if n % 2 == 0
                    ],
                )
        except exceptions.FencedError:
            return

    def run_all(self, *works: Callable[[], None]) -> None:
        start = threading.Barrier(len(works))

        def run(work: Callable[[], None]) -> None:
            start.wait(TIMEOUT)
            try:
                work()
            except Exception as exc:  # noqa: BLE001 - told by the test
                self.failures.append(exc)

        threads = [threading.Thread(target=run, args=(w,)) for w in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
            self.assertFalse(thread.is_alive())

    def test_each_node_goes_to_exactly_one_and_the_source_is_fenced(
        self,
    ) -> None:
        self.run_all(
            self.mover('one', False), self.mover('two', True), self.source
        )
        self.assertEqual([], self.failures)
        stored = SqlMoves(self.database)
        won = {
            to: {
                n.uuid
                for n in stored.nodes(f'req-{to}', state=moves.NodeState.MOVED)
            }
            for to in ('one', 'two')
        }
        self.assertEqual(set(), won['one'] & won['two'])
        self.assertEqual(len(NODES), len(won['one'] | won['two']))
        owners = {r.uuid: r.host for r in self.records.compute_nodes()}
        for to, uuids in won.items():
            self.assertEqual(
                {to} if uuids else set(), {owners[uuid] for uuid in uuids}
            )
        self.assertEqual([], list(stored.separated()))
        self.assertEqual([], list(stored.moves(unfinished=True)))
        self.assertEqual([], laws.violations(self.records))

    def hand_over(self, to: str) -> Callable[[], None]:
        """Take the free nodes of ``old``, which is alive, for a service."""
        opened = self.open_database()
        self.addCleanup(opened.close)
        stored = SqlMoves(opened)
        nodes = [moves.NodeMove(suite.uuid(n), 'old') for n in FREE]
        request = moves.HandOver(f'req-{to}', 'test', 3600.0)
        stored.plan(moves.Move(request.request_id, to, 'test'), nodes)

        def carry_out() -> None:
            for node in nodes:
                if stored.release([node], request):
                    continue
                (result,) = stored.carry_out(request.request_id, [node])
                if result.state is not moves.NodeState.MOVED:
                    raise AssertionError(result.detail)
                self.handed_over.append(node.uuid)

        return carry_out

    def grabbing(self, host: str) -> Callable[[], None]:
        """Claim every unowned node until all are handed over."""
        opened = self.open_database()
        self.addCleanup(opened.close)
        records = SqlRecords(opened)
        service = records.service(host)
        assert service is not None
        deadline = time.monotonic() + TIMEOUT

        def grab() -> None:
            while len(self.handed_over) < len(FREE):
                self.assertLess(time.monotonic(), deadline, 'never ended')
                outcome = records.apply(
                    host, service.epoch, [suite.claim(n) for n in FREE]
                )
                self.grabbed += [c.uuid for c in outcome.applied]

        return grab

    def test_no_service_claims_what_two_operators_hand_over(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.handed_over: list[str] = []
        self.grabbed: list[str] = []
        epochs = {s.host: s.epoch for s in self.records.services()}
        self.run_all(
            self.hand_over('one'),
            self.hand_over('two'),
            self.grabbing('old'),
            self.grabbing('two'),
        )
        self.assertEqual([], self.failures)
        self.assertEqual([], self.grabbed)
        self.assertEqual(
            sorted(map(suite.uuid, FREE)), sorted(self.handed_over)
        )
        owners = {r.uuid: r.host for r in self.records.compute_nodes()}
        stored = SqlMoves(self.database)
        for to in ('one', 'two'):
            for node in stored.nodes(f'req-{to}', state=moves.NodeState.MOVED):
                self.assertEqual(to, owners[node.uuid])
        # None of them was stopped.
        self.assertEqual(
            epochs, {s.host: s.epoch for s in self.records.services()}
        )
        self.assertEqual([], laws.violations(self.records))


class TestRaceOnPostgreSQL(Race, database.OnDatabase):
    def fresh_url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestRaceOnMariaDB(Race, database.OnDatabase):
    def fresh_url(self) -> str:
        return databases.MARIADB.fresh()


class TestRaceOnSqlite(Race, database.OnDatabase):
    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()
