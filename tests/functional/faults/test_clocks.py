"""Clocks set an hour ahead, or back, while everything runs."""

from __future__ import annotations

import sys

from lab import faketime, postgresql
from tests.functional.faults.support import incident, jumping_host, stores
from tests.functional.support import databases, hosts

HOUR = 3600
BOTH = ('host1', 'host2')


class _Clocks(incident.IncidentTestCase):
    """Tests give their clock to whom they want."""

    def setUp(self) -> None:
        directory = databases.temporary_directory('clock')
        directory.chmod(0o755)
        self.clock = faketime.Clock(directory)
        super().setUp()
        self.deployment.live_for(incident.LONG)

    def start_with_clock(self, *names: str) -> list[hosts.Host]:
        """Start hosts whose clock will jump."""
        deployment = self.deployment
        deployment.environment = self.clock.env
        deployment.command = (sys.executable, jumping_host.__file__)
        started = self.start(*names)
        deployment.environment, deployment.command = None, ()
        return started

    def assert_jumps_change_nothing(self, *running: hosts.Host) -> None:
        """Jump there and back in both directions, and see work go on."""
        uuids, _ = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        with self.nothing_moves():
            for seconds in (HOUR, 0, -HOUR, 0):
                self.clock.jump(seconds)
                more, _ = self.enrol(8)
                self.wait_for_ring(more, BOTH)
        for host in running:
            self.assertEqual(1, len(host.lines('joined as')), host.troubles())
            self.assertEqual([], host.lines('unexpected error'))


class TestClockOfAHost(_Clocks):
    """The clock of one machine among several."""

    def test_jumps_change_nothing_at_all(self) -> None:
        (jumping,) = self.start_with_clock('host1')
        (other,) = self.start('host2')
        self.assert_jumps_change_nothing(jumping, other)


class TestClockOfTheDatabase(_Clocks):
    """The clock that gives the heartbeats of the backend ``db`` a time."""

    def fresh_url(self) -> str:
        directory = databases.temporary_directory('postgresql')
        server = postgresql.PostgreSQL(directory, self.clock.env)
        self.addCleanup(server.stop)
        server.start()
        return server.create_database('records')

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def test_jumps_change_nothing_at_all(self) -> None:
        self.assert_jumps_change_nothing(*self.start(*BOTH))

    def stop_for(self, grace: float) -> list[str]:
        """Let host1 stop, and be back soon; return the free nodes."""
        self.deployment.more = {
            'membership': {
                'member_ttl': incident.LONG,
                'restart_grace': grace,
            }
        }
        one, _ = self.start(*BOTH)
        uuids, deployed = self.enrol()
        self.wait_for_ring(uuids, BOTH)
        self.assertEqual(0, one.terminate())
        return sorted(set(uuids) - deployed)

    def assert_expected_back(self) -> None:
        """See host2 refresh, and take nothing from host1."""
        with self.nothing_moves():
            more, _ = self.enrol(8)
            self.wait_for_owner(self.share_of(more, 'host2', BOTH), 'host2')

    def test_restart_grace_is_shorter_by_a_jump_ahead(self) -> None:
        free = self.stop_for(HOUR)
        self.clock.jump(HOUR / 2)
        self.assert_expected_back()
        self.clock.jump(HOUR * 1.5)
        self.wait_for_owner(free, 'host2')


class TestClockOfTheMachine(_Clocks):
    """One machine with all processes and the database of SQLite."""

    def fresh_url(self) -> str:
        return databases.SQLITE.fresh()

    def open_store(self, url: str) -> stores.Store:
        return stores.RecordsStore(url)

    def test_jumps_change_nothing_at_all(self) -> None:
        self.assert_jumps_change_nothing(*self.start_with_clock(*BOTH))


del _Clocks
