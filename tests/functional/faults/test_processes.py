"""A process is stopped, and goes on as if nothing had happened.

Deaths, and pauses of all kinds of services, are in the simulation.
"""

from __future__ import annotations

import signal
import sys

import psutil

from tests.functional.faults.support import interrupted_host
from tests.functional.faults.support.incident import (
    BOTH,
    Deployment,
    IncidentTestCase,
)
from tests.functional.support import databases, hosts


class Transactions:
    """Laws that depend on the server of the records."""

    def test_host_frozen_in_a_transaction_is_not_waited_for(self) -> None:
        # It holds the locks that the service that takes over needs.
        order = self.deployment.directory / 'stop-in-transaction'
        self.deployment.command = (sys.executable, interrupted_host.__file__)
        self.deployment.environment = {interrupted_host.VARIABLE: str(order)}
        frozen = self.launch('host1')
        self.wait_for_members('host1')
        self.deployment.command = Deployment.command
        self.launch('host2')
        self.wait_for_members(*BOTH)
        uuids = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        before = self.deployment.last_event()
        order.touch()
        more = self.enrol()
        stopped = psutil.Process(frozen.process.pid)
        self.deployment.wait_until(
            lambda: stopped.status() == psutil.STATUS_STOPPED, 'stop'
        )
        self.wait_for_lapse('host1', before)
        self.wait_for_owner([*uuids[6:], *more], 'host2')
        frozen.thaw()
        self.wait_for_ring([*uuids[6:], *more[6:]], BOTH)


class TestTransactionsOfPostgreSQL(Transactions, IncidentTestCase):
    kind = databases.POSTGRESQL

    def test_frozen_host_does_nothing_with_its_old_right(self) -> None:
        free = self.share(*BOTH)
        frozen = self.running[0]
        before = self.deployment.last_event()
        frozen.freeze()
        self.wait_for_lapse('host1', before)
        self.wait_for_owner(free, 'host2')
        # It would want its share of these at once.
        more = self.enrol()
        self.wait_for_owner(more, 'host2')
        frozen.thaw()
        self.wait_for_ring([*free, *more[6:]], BOTH)
        self.assertEqual(1, len(frozen.lines('membership lost')))
        before = self.deployment.last_event()
        frozen.freeze()
        self.wait_for_lapse('host1', before)
        # It has hardly time to become a member again first; if it does, it
        # may well say that it stops.
        frozen.process.signal(signal.SIGTERM)
        frozen.thaw()
        self.assertEqual(0, frozen.process.wait(hosts.TIMEOUT))


class TestTransactionsOfMariaDB(Transactions, IncidentTestCase):
    kind = databases.MARIADB
