"""Planned work on Galera: transactions that commit at two nodes at once.

A lock is one node's, so what excludes two of them is a row that both write.
Each round lets them commit at the same moment; where their order matters it is
that of the binary log. Pauses, and what else operators and services do about
orders and trials, are in the simulation, whose servers certify rows as well.
"""

from __future__ import annotations

import concurrent.futures
import functools
import unittest
from typing import Any

import sqlalchemy as sa

from benchmarks.galera_choice import CommonCommit, Operation, Ports
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.moves import Move, NodeMove, StandingOrder
from ironic_ownership.contracts.records import Budget, Claim, Release
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


class TestPlannedWork(unittest.TestCase):
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
        self.records = self.first.records
        self.threads = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(self.threads.shutdown)
        self.epochs = {host: self.register(host) for host in (ONE, TWO)}

    def register(self, host: str) -> int:
        return self.records.register(host, SETTINGS)

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

    def claim(self, host: str, one: model.Node) -> None:
        claim = Claim(one, reasons.Reason.ASSIGNED)
        outcome = self.records.apply(host, self.epochs[host], [claim])
        self.assertEqual((claim,), outcome.applied)

    def releases(self, host: str, number: int, budget: Budget) -> Operation:
        return lambda ports: ports.records.apply(
            host,
            self.epochs[host],
            [Release(node(number).uuid)],
            budget=budget,
        )

    def test_two_services_spend_a_budget_once(self) -> None:
        self.claim(ONE, node(0))
        self.claim(TWO, node(1))
        for budget in [Budget(rate=1), Budget(share=0.1)] * ROUNDS:
            self.first.database.write(
                lambda conn: conn.execute(sa.delete(tables.events))
            )
            outcomes = self.race(
                self.releases(ONE, 0, budget),
                self.releases(TWO, 1, budget),
            )
            applied = [len(one.applied) for one in outcomes]
            delayed = [len(one.delayed) for one in outcomes]
            self.assertEqual([[0, 1]] * 2, [sorted(applied), sorted(delayed)])
            number = applied.index(1)
            self.claim((ONE, TWO)[number], node(number))

    def plan_move(self, number: int) -> Operation:
        """Let ``dead`` own a deployed node; return the move of an order."""
        moved = node(number)
        self.epochs[DEAD] = self.register(DEAD)
        self.claim(DEAD, moved)
        origin = Origin('operator', f'req-{number}')
        self.records.give_order(DEAD, ORDER, origin)
        (dead,) = (s for s in self.records.services() if s.host == DEAD)
        self.records.note_fence(ONE, self.epochs[ONE], dead)
        planned = NodeMove(moved.uuid, DEAD, dead.epoch, moved.instance_uuid)
        request = f'req-of-{number}'
        self.first.moves.plan(
            Move(request, ONE, ONE, automatic=True), [planned]
        )
        return lambda ports: ports.moves.carry_out(request, [planned])

    def test_no_node_moves_after_its_service_returned(self) -> None:
        for number in range(2, ROUNDS + 2):
            self.race(
                self.plan_move(number),
                lambda ports: ports.records.register(DEAD, SETTINGS),
            )
        found = committed_order.events(self.server, self.name)
        alive, wrong = False, []
        for event in found:
            if (event['kind'], event['actor']) == ('service_registered', DEAD):
                alive = True
            elif event['kind'] == 'service_fenced':
                alive = False
            elif event['kind'] == 'node_moved' and alive:
                wrong.append(event)
        survived.note(
            'planned work at two Galera nodes: standing orders',
            faults=ROUNDS,
            events=len(found),
            violations=len(wrong),
        )
        self.assertEqual([], wrong)

    def test_one_process_has_the_turn(self) -> None:
        def claim(me: str, ports: Ports) -> bool:
            turn = outbox.SqlOrderTurn(ports.database)
            return turn.claim(me, lease=600.0, max_age=600.0).is_mine

        for _ in range(ROUNDS):
            mine = self.race(
                *(functools.partial(claim, host) for host in (ONE, TWO))
            )
            self.assertEqual([False, True], sorted(mine))
            outbox.SqlOrderTurn(self.first.database).yield_turn(
                (ONE, TWO)[mine.index(True)]
            )
