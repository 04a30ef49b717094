"""Planned work on Galera: transactions that commit at two nodes at once.

A lock is one node's, so what excludes two of them is a row that both write.
Each round lets them commit at the same moment; where their order matters it is
that of the binary log.
"""

from __future__ import annotations

import concurrent.futures
import unittest
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from benchmarks.galera_choice import CommonCommit, Operation, Ports
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.moves import (
    Move,
    NodeMove,
    NodeState,
    StandingOrder,
    Trial,
)
from ironic_ownership.contracts.records import (
    Budget,
    Claim,
    Outcome,
    Release,
)
from ironic_ownership.db import connection, outbox, schema, tables
from lab import committed_order
from tests.functional.support import databases, survived

ROUNDS = 25
DEAD, ONE, TWO = 'dead', 'one', 'two'
SETTINGS = model.MemberSettings()
ORDER = StandingOrder(0, 'operator', 'on call', ONE)


def node(number: int) -> model.Node:
    return model.Node(
        f'00000000-0000-0000-0000-{number:012d}',
        shard='a',
        conductor_group='g',
        instance_uuid=f'i{number}' if number > 1 else None,
    )


class RaceCase(unittest.TestCase):
    """``one`` and ``two`` write through different nodes of one cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.server = databases.GALERA.server.nodes[0]
        urls = databases.GALERA.fresh()
        self.name = urls[0].rpartition('/')[2]
        # Each read sees what any node has committed before.
        self.ports = [
            Ports(connection.open_database(url, mysql_wsrep_sync_wait=7))
            for url in urls[:2]
        ]
        for ports in self.ports:
            self.addCleanup(ports.database.close)
        schema.upgrade(self.ports[0].database)
        self.first = self.ports[0]
        self.threads = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(self.threads.shutdown)
        self.requests = 0
        self.epochs = {host: self.register(host) for host in (ONE, TWO)}

    def register(self, host: str) -> int:
        return self.first.records.register(host, SETTINGS)

    def race(self, *operations: Operation) -> list[Any]:
        """Run two operations at two nodes; they commit together."""
        common = CommonCommit(len(operations))

        def run(ports: Ports, operation: Operation) -> object:
            ports.common = common
            try:
                return operation(ports)
            finally:
                ports.common = None
                common.end()

        running = [
            self.threads.submit(run, *one)
            for one in zip(self.ports, operations, strict=True)
        ]
        return [one.result() for one in running]

    def origin(self) -> Origin:
        self.requests += 1
        return Origin('operator', f'req-{self.requests}')

    def claim(self, host: str, *nodes: model.Node) -> None:
        changes = [Claim(one, reasons.Reason.ASSIGNED) for one in nodes]
        outcome = self.first.records.apply(host, self.epochs[host], changes)
        self.assertEqual(len(nodes), len(outcome.applied))

    def releases(
        self, host: str, number: int, **more: Budget
    ) -> Callable[[Ports], Outcome]:
        def release(ports: Ports) -> Outcome:
            return ports.records.apply(
                host, self.epochs[host], [Release(node(number).uuid)], **more
            )

        return release

    def assert_order(self, follow: Callable[[dict[str, Any]], bool]) -> None:
        """Prove of each event that it may follow those before it."""
        found = committed_order.events(self.server, self.name)
        wrong = [event for event in found if not follow(event)]
        survived.note(
            f'planned work at two Galera nodes: {self._testMethodName}',
            faults=ROUNDS,
            events=len(found),
            violations=len(wrong),
        )
        self.assertEqual([], wrong)


class TestBudgets(RaceCase):
    def test_two_services_spend_a_budget_once(self) -> None:
        self.claim(ONE, node(0))
        self.claim(TWO, node(1))
        for budget in [Budget(rate=1), Budget(share=0.1)] * ROUNDS:
            self.first.database.write(
                lambda conn: conn.execute(sa.delete(tables.events))
            )
            outcomes = self.race(
                self.releases(ONE, 0, budget=budget),
                self.releases(TWO, 1, budget=budget),
            )
            applied = [len(one.applied) for one in outcomes]
            delayed = [len(one.delayed) for one in outcomes]
            self.assertEqual([[0, 1]] * 2, [sorted(applied), sorted(delayed)])
            if applied[0]:
                self.claim(ONE, node(0))
            else:
                self.claim(TWO, node(1))


class TestPauses(RaceCase):
    def test_no_owner_changes_after_a_pause_began(self) -> None:
        self.claim(ONE, node(0))
        for _ in range(ROUNDS):
            origin = self.origin()
            outcome, pause = self.race(
                self.releases(ONE, 0),
                lambda ports, by=origin: ports.records.begin_pause(
                    by, 600.0, 'cables'
                ),
            )
            self.assertEqual(1, len(outcome.applied) + len(outcome.paused))
            self.first.records.end_pauses(origin, [pause.request_id])
            if outcome.applied:
                self.claim(ONE, node(0))
        lasting = False

        def follow(event: dict[str, Any]) -> bool:
            nonlocal lasting
            if event['kind'] in ('pause_began', 'pause_ended'):
                lasting = event['kind'] == 'pause_began'
            return event['kind'] != 'owner_changed' or not lasting

        self.assert_order(follow)


class TestStandingOrders(RaceCase):
    def dead(self) -> model.Service:
        found = self.first.records.services()
        return next(row for row in found if row.host == DEAD)

    def prepare(self, number: int) -> NodeMove:
        """Let ``dead`` own a deployed node, and have an order."""
        self.epochs[DEAD] = self.register(DEAD)
        self.claim(DEAD, node(number))
        self.first.records.give_order(DEAD, ORDER, self.origin())
        uuid, instance = node(number).uuid, node(number).instance_uuid
        return NodeMove(uuid, DEAD, self.epochs[DEAD], instance)

    def notes(self, host: str) -> Callable[[Ports], bool]:
        seen = self.dead()
        return lambda ports: ports.records.note_fence(
            host, self.epochs[host], seen
        )

    def test_fence_is_noted_once(self) -> None:
        self.prepare(2)
        for _ in range(ROUNDS):
            before = self.register(DEAD)
            found = self.race(self.notes(ONE), self.notes(TWO))
            self.assertEqual([False, True], sorted(found))
            self.assertEqual(before + 1, self.dead().epoch)
            self.assertTrue(self.dead().order_due)

    def test_service_that_returns_is_not_taken_for_dead(self) -> None:
        self.prepare(2)
        for _ in range(ROUNDS):
            _, epoch = self.race(
                self.notes(ONE),
                lambda ports: ports.records.register(DEAD, SETTINGS),
            )
            row = self.dead()
            self.assertEqual((epoch, False), (row.epoch, row.fenced))
            self.assertFalse(row.order_due)

    def moves(self, planned: NodeMove) -> Callable[[Ports], NodeState]:
        """Plan the move of a standing order; return its transaction."""
        self.notes(ONE)(self.first)
        request = str(self.origin().request_id)
        self.first.moves.plan(
            Move(request, ONE, ONE, automatic=True), [planned]
        )
        return lambda ports: ports.moves.carry_out(request, [planned])[0].state

    def test_no_node_moves_after_its_service_returned(self) -> None:
        for number in range(2, ROUNDS + 2):
            self.race(
                self.moves(self.prepare(number)),
                lambda ports: ports.records.register(DEAD, SETTINGS),
            )
        alive = False

        def follow(event: dict[str, Any]) -> bool:
            nonlocal alive
            if (event['kind'], event['actor']) == ('service_registered', DEAD):
                alive = True
            if event['kind'] == 'service_fenced':
                alive = False
            return event['kind'] != 'node_moved' or not alive

        self.assert_order(follow)

    def test_no_node_moves_after_the_order_was_revoked(self) -> None:
        for number in range(2, ROUNDS + 2):
            origin = self.origin()
            self.race(
                self.moves(self.prepare(number)),
                lambda ports, by=origin: ports.records.give_order(
                    DEAD, None, by
                ),
            )
        ordered = False

        def follow(event: dict[str, Any]) -> bool:
            nonlocal ordered
            if event['kind'] == 'service_changed':
                ordered = 'deployed_after=none' not in event['reason']
            return event['kind'] != 'node_moved' or ordered

        self.assert_order(follow)

    def test_one_process_has_the_turn(self) -> None:
        for _ in range(ROUNDS):
            turns = self.race(
                *(
                    lambda ports, me=host: outbox.SqlOrderTurn(
                        ports.database
                    ).claim(me, lease=600.0, max_age=600.0)
                    for host in (ONE, TWO)
                )
            )
            mine = [turn.is_mine for turn in turns]
            self.assertEqual([False, True], sorted(mine))
            outbox.SqlOrderTurn(self.first.database).yield_turn(
                (ONE, TWO)[mine.index(True)]
            )


class TestTrials(RaceCase):
    def test_trial_passes_or_goes_back(self) -> None:
        nodes = [node(number) for number in range(2, 6)]
        self.epochs[DEAD] = self.register(DEAD)
        self.claim(DEAD, *nodes)
        source = DEAD
        for _ in range(ROUNDS):
            target = ONE if source != ONE else TWO
            request = str(self.origin().request_id)
            planned = [
                NodeMove(
                    *(one.uuid, source, None, one.instance_uuid),
                    trial=Trial.FIRST,
                )
                for one in nodes
            ]
            self.first.records.set_service(source, actor='x', forced_down=True)
            self.first.records.set_service(
                target, actor='x', forced_down=False
            )
            self.first.moves.plan(Move(request, target, 'operator'), planned)
            moved = self.first.moves.carry_out(request, planned)
            self.assertEqual({NodeState.MOVED}, {one.state for one in moved})
            causes = dict.fromkeys((one.uuid for one in nodes), 'it failed')
            passed, failed = self.race(
                lambda ports, of=request: ports.moves.pass_trial(of),
                lambda ports, of=request, why=causes: ports.moves.fail_trial(
                    of, why
                ),
            )
            (end,) = {
                (one.trial, one.state)
                for one in self.first.moves.nodes(request)
            }
            self.assertIn(
                (passed, failed, end),
                (
                    (True, False, (Trial.PASSED, NodeState.MOVED)),
                    (False, True, (Trial.BACK, NodeState.PLANNED)),
                ),
            )
            source = target
