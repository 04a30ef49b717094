"""Budgets on Galera: transactions that commit at two nodes at once.

A lock is one node's, so what excludes two of them is a row that both write.
Each round lets them commit at the same moment. Pauses, orders and trials are
in the simulation, whose servers certify written rows as well, moves and claims
in ``test_galera_fences``.
"""

from __future__ import annotations

import concurrent.futures
import unittest
from collections.abc import Sequence

import sqlalchemy as sa

from benchmarks.galera_choice import CommonCommit, Ports
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Claim,
    Outcome,
    Release,
)
from ironic_ownership.db import connection, schema, tables
from tests.functional.support import databases

ROUNDS = 25
HOSTS = ('one', 'two')
NODES = [
    model.Node(
        f'00000000-0000-0000-0000-00000000000{number}',
        shard='a',
        conductor_group='g',
    )
    for number in (1, 2)
]


class TestBudgets(unittest.TestCase):
    """``one`` and ``two`` write through different nodes of one cluster."""

    def setUp(self) -> None:
        super().setUp()
        # Each read sees what any node has committed before.
        self.ports = [
            Ports(connection.open_database(url, mysql_wsrep_sync_wait=7))
            for url in databases.GALERA.fresh()[:2]
        ]
        for ports in self.ports:
            self.addCleanup(ports.database.close)
        schema.upgrade(self.ports[0].database)
        self.epochs = [
            self.ports[0].records.register(host, model.MemberSettings())
            for host in HOSTS
        ]

    def apply(
        self, number: int, change: Change, budget: Budget
    ) -> Sequence[Change]:
        """Write through the node of a host; return what is delayed."""
        ports = self.ports[number]
        outcome: Outcome = ports.records.apply(
            HOSTS[number], self.epochs[number], [change], budget=budget
        )
        self.assertEqual(1, len(outcome.applied) + len(outcome.delayed))
        return outcome.delayed

    def race(self, budget: Budget) -> list[bool]:
        """Release both nodes at once; return which of them were."""
        common = CommonCommit(len(HOSTS))

        def release(number: int) -> bool:
            ports = self.ports[number]
            ports.common = common
            try:
                change = Release(NODES[number].uuid)
                return not self.apply(number, change, budget)
            finally:
                ports.common = None
                common.end()

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(release, range(2)))

    def test_two_services_spend_a_budget_once(self) -> None:
        free = [0, 1]
        for budget in [Budget(rate=1), Budget(share=0.1)] * ROUNDS:
            for number in free:
                claim = Claim(NODES[number], reasons.Reason.ASSIGNED)
                self.assertEqual((), self.apply(number, claim, Budget()))
            self.ports[0].database.write(
                lambda conn: conn.execute(sa.delete(tables.events))
            )
            released = self.race(budget)
            self.assertEqual([False, True], sorted(released))
            free = [released.index(True)]
