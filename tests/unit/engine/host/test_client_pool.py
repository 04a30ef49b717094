"""The pool of Ironic clients for many threads."""

from __future__ import annotations

import threading
import unittest
import unittest.mock
from concurrent import futures

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host import client_pool
from ironic_ownership.engine.ports import BareMetal
from tests.contract.suites import fake_bare_metal

PATIENCE = 180.0


class TestClientPool(unittest.TestCase):
    def setUp(self) -> None:
        self.built: list[BareMetal] = []
        self.pool = client_pool.ClientPool(self.build, 2)

    def build(self) -> BareMetal:
        self.built.append(fake_bare_metal.FakeBareMetal())
        return self.built[-1]

    def waiting(self) -> int:
        return len(self.pool._waiting)

    def until_waiting(self, number: int) -> None:
        pause = threading.Event()
        while self.waiting() != number:
            pause.wait(0.01)

    def test_no_client_is_lent_twice_at_a_time(self) -> None:
        in_use: set[int] = set()
        most = []

        def use(_: int) -> None:
            with self.pool.lend(PATIENCE) as client:
                assert id(client) not in in_use
                in_use.add(id(client))
                most.append(len(in_use))
                in_use.discard(id(client))

        with futures.ThreadPoolExecutor(16) as executor:
            list(executor.map(use, range(300)))
        self.assertLessEqual(max(most), 2)
        self.assertLessEqual(len(self.built), 2)

    def test_clients_are_lent_in_turn(self) -> None:
        order: list[int] = []
        self.pool = client_pool.ClientPool(self.build, 1)

        def use(number: int) -> None:
            with self.pool.lend(PATIENCE):
                order.append(number)

        threads = []
        with self.pool.lend(0):
            for number in range(5):
                threads.append(threading.Thread(target=use, args=[number]))
                threads[-1].start()
                self.until_waiting(number + 1)
        for thread in threads:
            thread.join()
        self.assertEqual([*range(5)], order)

    def test_waiting_ends_with_the_patience(self) -> None:
        with self.pool.lend(0), self.pool.lend(0):
            lent = self.pool.lend(0.01)
            with self.assertRaises(exceptions.IronicUnavailableError):
                lent.__enter__()
            self.assertEqual(0, self.waiting())
        with self.pool.lend(0):
            pass

    def test_client_that_cannot_be_built_blocks_no_other(self) -> None:
        error = exceptions.IronicError('no endpoint')
        pool = client_pool.ClientPool(unittest.mock.Mock(side_effect=error), 1)
        for _ in range(3):
            with (
                self.assertRaises(exceptions.IronicError),
                pool.lend(PATIENCE),
            ):
                pass
