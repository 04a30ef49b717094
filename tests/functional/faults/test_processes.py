"""A process dies, or is stopped and goes on as if nothing had happened."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import psutil

from tests.functional.faults.support import interrupted_host
from tests.functional.faults.support.incident import (
    STEADY,
    Deployment,
    IncidentTestCase,
)
from tests.functional.support import databases, hosts


class _Processes(IncidentTestCase):
    def test_frozen_exclusive_owner_does_nothing_with_its_old_right(
        self,
    ) -> None:
        # No service fences it, since no other may have its nodes: here its
        # own clock is the only fence.
        (host,) = self.start('host1', policies='all')
        uuids, _ = self.enrol(8)
        self.wait_for_owner(uuids, 'host1')
        before = self.deployment.last_event()
        host.freeze()
        self.wait_for_lapse('host1', before)
        more, _ = self.enrol(8)
        host.thaw()
        self.wait_for_owner(uuids + more, 'host1')

    def test_frozen_host_that_receives_a_stop_writes_nothing(self) -> None:
        (host,) = self.start('host1', policies='all')
        uuids, _ = self.enrol(8)
        self.wait_for_owner(uuids, 'host1')
        before = self.deployment.last_event()
        host.freeze()
        self.wait_for_lapse('host1', before)
        # It has hardly time to become a member again first; if it does, it
        # may well say that it stops.
        host.process.signal(signal.SIGTERM)
        host.thaw()
        self.assertEqual(0, host.process.wait(hosts.TIMEOUT))

    def test_all_killed_at_once_and_back_is_a_restart(self) -> None:
        # Long enough for the slowest of them to start.
        self.deployment.live_for(20)
        self.assert_nothing_moves(self.kill_and_start_all)

    def test_all_frozen_at_once_and_back_is_a_restart(self) -> None:
        self.deployment.live_for(STEADY)
        self.assert_nothing_moves(self.freeze_and_thaw_all)

    def assert_nothing_moves(
        self, cause: Callable[[list[hosts.Host]], None]
    ) -> None:
        names = ('host1', 'host2', 'host3')
        running = self.start(*names)
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, names)
        with self.nothing_moves():
            cause(running)
            self.wait_for_members(*names)
            more, _ = self.enrol()
            self.wait_for_ring(more, names)

    def kill_and_start_all(self, running: list[hosts.Host]) -> None:
        for host in running:
            host.kill()
        for host in running:
            self.deployment.launch(host.name)
        self.deployment.wait_for_lines('registered, epoch')

    def freeze_and_thaw_all(self, running: list[hosts.Host]) -> None:
        before = self.deployment.last_event()
        for host in running:
            host.freeze()
        for host in running:
            self.wait_for_lapse(host.name, before)
        for host in running:
            host.thaw()
        self.deployment.wait_for_lines('registered, epoch', 2)


class Transactions:
    """Laws that depend on the server of the records."""

    def test_frozen_host_does_nothing_with_its_old_right(self) -> None:
        frozen, _ = self.start('host1', 'host2')
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, ('host1', 'host2'))
        before = self.deployment.last_event()
        frozen.freeze()
        self.wait_for_lapse('host1', before)
        self.wait_for_owner(set(uuids) - deployed, 'host2')
        # It would want its share of these at once.
        more, _ = self.enrol()
        self.wait_for_owner(more, 'host2')
        frozen.thaw()
        free = (set(uuids) - deployed) | set(more[6:])
        self.wait_for_ring(sorted(free), ('host1', 'host2'))
        self.assertEqual(1, len(frozen.lines('membership lost')))

    def test_host_frozen_in_a_transaction_is_not_waited_for(self) -> None:
        # It holds the locks that the service that takes over needs.
        order = self.deployment.directory / 'stop-in-transaction'
        self.deployment.command = (sys.executable, interrupted_host.__file__)
        self.deployment.environment = {interrupted_host.VARIABLE: str(order)}
        (frozen,) = self.start('host1')
        self.deployment.command = Deployment.command
        self.start('host2')
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, ('host1', 'host2'))
        before = self.deployment.last_event()
        order.touch()
        more, _ = self.enrol()
        stopped = psutil.Process(frozen.process.pid)
        self.deployment.wait_until(
            lambda: stopped.status() == psutil.STATUS_STOPPED, 'stop'
        )
        self.wait_for_lapse('host1', before)
        free = (set(uuids) - deployed) | set(more)
        self.wait_for_owner(free, 'host2')
        frozen.thaw()
        self.wait_for_ring(sorted(free - set(more[:6])), ('host1', 'host2'))


class TestProcesses(_Processes):
    kind = databases.POSTGRESQL


class TestTransactionsOfPostgreSQL(Transactions, IncidentTestCase):
    kind = databases.POSTGRESQL


class TestTransactionsOfMariaDB(Transactions, IncidentTestCase):
    kind = databases.MARIADB


del _Processes
