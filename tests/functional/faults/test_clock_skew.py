"""Database servers whose clocks differ, under running services."""

from __future__ import annotations

import json
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind
from lab import faketime, galera, replication
from tests.functional.faults.support import incident
from tests.functional.support import databases

BOTH, ALL = ('host1', 'host2'), ('host1', 'host2', 'host3')
TOLERATED, LARGE, HOUR = 0.5, 30, 3600


def clock() -> faketime.Clock:
    directory = databases.temporary_directory('clock')
    directory.chmod(0o755)
    return faketime.Clock(directory)


class _SkewCase(incident.RecordsTestCase):
    """Hosts on servers of which some have a clock of their own."""

    def enrol(self) -> list[str]:
        return self.enrolment.enrol(8)

    def events(self, kind: EventKind) -> list[model.Event]:
        return [e for e in self.deployment.events() if e.kind == kind]

    def lost_owners(self) -> list[model.Event]:
        """Return the events by which a node lost its owner."""
        return [e for e in self.events(EventKind.OWNER_CHANGED) if e.from_host]

    def skew(self) -> str | None:
        """Return what ``check`` finds about the clocks."""
        done = self.deployment.operate('check', '--long', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done)
        found = {one['code']: one for one in json.loads(done.stdout)}
        return found['clock_skew']['what'] if 'clock_skew' in found else None


class TestClocksOfGalera(_SkewCase):
    """Each of three hosts uses its own node of the cluster."""

    cluster: ClassVar[galera.Galera]
    clocks: ClassVar[dict[int, faketime.Clock]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.clocks = {number: clock() for number in (2, 3)}
        cls.cluster = galera.Galera(
            databases.temporary_directory('galera'),
            env={number: one.env for number, one in cls.clocks.items()},
        )
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self) -> None:
        for one in self.clocks.values():
            one.jump(0)
        super().setUp()

    def deploy(self, connection: str | None = None) -> incident.Deployment:
        self.urls = self.cluster.create_database(f'x{id(self)}')
        return super().deploy(self.urls[0])

    def set_clocks(self, second: float, third: float) -> None:
        self.clocks[2].jump(second)
        self.clocks[3].jump(third)

    def start(self) -> None:
        for name, url in zip(ALL, self.urls, strict=True):
            self.deployment.start(name, database={'connection': url})

    def test_skew_changes_nothing_and_check_names_what_is_not_tolerated(
        self,
    ) -> None:
        self.set_clocks(TOLERATED, -TOLERATED)
        self.start()
        self.deployment.wait_for_ring(self.enrol(), ALL)
        self.assertIsNone(self.skew())
        lost = self.lost_owners()
        for skew in (LARGE, -HOUR):
            self.set_clocks(skew, -skew)
            self.deployment.wait_until(self.skew, 'finding')
            self.deployment.wait_for_ring(self.enrol(), ALL)
            # What its hint says.
            self.set_clocks(0, 0)
            self.deployment.wait_until(
                lambda: self.skew() is None, 'end of the finding'
            )
        self.assertEqual(lost, self.lost_owners())
        self.assertEqual([], self.events(EventKind.SERVICE_FENCED))
        self.assertEqual([], self.events(EventKind.SERVICE_DIED))

    def test_death_is_noticed_at_any_skew(self) -> None:
        # A server that is behind notices it later by the difference.
        self.set_clocks(LARGE, -LARGE)
        self.start()
        uuids = self.enrol()
        self.deployment.wait_for_ring(uuids, ALL)
        self.deployment.hosts[0].kill()
        self.deployment.wait_for_ring(uuids, ('host2', 'host3'))
        died = self.events(EventKind.SERVICE_DIED)
        self.assertEqual({'host1'}, {event.from_host for event in died})


class TestClockOfAPromotedStandby(_SkewCase):
    """A promotion is a jump of the clock for all services."""

    servers: ClassVar[replication.Replication]
    standby_clock: ClassVar[faketime.Clock]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.standby_clock = clock()
        cls.servers = replication.Replication(
            databases.temporary_directory('replication')
        )
        cls.servers.standby_env = cls.standby_clock.env
        cls.addClassCleanup(cls.servers.stop)
        cls.servers.start()

    def deploy(self, connection: str | None = None) -> incident.Deployment:
        servers = self.servers
        if servers.standby is None:
            servers.add_standby()
        assert servers.standby is not None
        name = f'x{id(self)}'
        servers.primary.create_database(name)
        servers.wait_until_streaming()
        servers.set_synchronous(synchronous=True)
        return super().deploy(
            replication.url(name, servers.primary.port, servers.standby.port)
        )

    def promote(self, skew: float) -> None:
        self.standby_clock.jump(skew)
        for host in BOTH:
            self.deployment.start(host)
        self.deployment.wait_for_ring(self.enrol(), BOTH)
        lost = self.lost_owners()
        epochs = {h: self.deployment.service(h).epoch for h in BOTH}
        self.servers.fail_over()
        self.deployment.wait_for_ring(self.enrol(), BOTH)
        self.assertEqual(lost, self.lost_owners())
        self.assertEqual([], self.events(EventKind.SERVICE_DIED))
        first = self.deployment.hosts[0]
        first.kill()
        self.deployment.start('host1')
        self.deployment.wait_until(
            lambda: self.deployment.service('host1').epoch > epochs['host1']
        )
        self.deployment.wait_for_ring(self.enrol(), BOTH)
        self.deployment.wait_until(lambda: self.skew() is None)

    def test_clock_that_is_ahead(self) -> None:
        self.promote(HOUR)

    def test_clock_that_is_behind(self) -> None:
        self.promote(-HOUR)


del _SkewCase
