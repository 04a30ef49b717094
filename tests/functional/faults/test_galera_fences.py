"""Fences on Galera: the order of the commits, not that of the answers."""

from __future__ import annotations

import concurrent.futures
import threading
import unittest

from benchmarks import galera
from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Change, Claim
from ironic_ownership.db import connection, records, schema
from lab import committed_order
from tests.functional.support import databases, survived

ROUNDS, SECONDS = 60, 20

SETTINGS = model.MemberSettings()


def uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012d}'


class TestFencesOnGalera(unittest.TestCase):
    """Services that write through different nodes of one cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = databases.GALERA.server.nodes
        urls = databases.GALERA.fresh()
        self.name = urls[0].rpartition('/')[2]
        opened = [connection.open_database(u) for u in urls]
        schema.upgrade(opened[0])
        for database in opened:
            self.addCleanup(database.close)
        self.ports = [records.SqlRecords(database) for database in opened]
        self.barrier = threading.Barrier(2)
        self.threads = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(self.threads.shutdown)

    def write(
        self, port: records.SqlRecords, host: str, epoch: int, change: Change
    ) -> bool:
        self.barrier.wait(180)
        try:
            return bool(port.apply(host, epoch, [change]).applied)
        except exceptions.FencedError:
            return False

    def test_no_claim_is_committed_behind_its_fence(self) -> None:
        one, two, _ = self.ports
        taker = two.register('host2', SETTINGS)
        both = 0
        for number in range(ROUNDS):
            epoch = one.register('host1', SETTINGS)
            name = f'host1@{epoch}'
            mine = model.Node(uuid(2 * number), name=name)
            free = model.Node(uuid(2 * number + 1), name=name)
            reason = reasons.Reason.ASSIGNED
            one.apply('host1', epoch, [Claim(mine, reason)])
            self.nodes[1].applied()
            taken = model.Node(mine.uuid, name=f'host2@{taker}')
            take = Claim(taken, reason, 'host1', epoch)
            claims = [
                self.threads.submit(self.write, *arguments)
                for arguments in (
                    (one, 'host1', epoch, Claim(free, reason)),
                    (two, 'host2', taker, take),
                )
            ]
            both += all(claim.result() for claim in claims)
        report = committed_order.evaluate(self.nodes[0], self.name)
        self.assertEqual([], report.violations)
        self.assertLess(0, both)

    def test_random_transactions_break_no_law(self) -> None:
        name = f'{self.name}_random'
        explorer = galera.Explorer(databases.GALERA.server, name, seed=12)
        result = explorer.run(seconds=SECONDS)
        survived.note(
            'transactions through several Galera nodes at once',
            faults=result.rounds,
            events=result.report.transactions,
            violations=len(result.report.violations),
        )
        self.assertEqual([], result.report.violations)
        failed = [o for _, o in result.outcomes if o.startswith('failed')]
        self.assertEqual([], failed)
        self.assertLess(0, result.count('applied'))
