"""Clocks that are set, and servers whose clocks differ, under services.

One clock for all, and graces and trials under a jump, are in the simulation.
The standby that ``test_rewinds`` promotes has a clock of its own.
"""

from __future__ import annotations

import json
import math
import sys

from ironic_ownership.contracts.events import EventKind
from lab import galera, postgresql
from tests.functional.faults.support import incident, jumping_host
from tests.functional.faults.support.incident import BOTH, clock
from tests.functional.support import databases

ALL = ('host1', 'host2', 'host3')
TOLERATED, LARGE, HOUR = 0.5, 30, 3600


class TestClocksThatJump(incident.IncidentTestCase):
    """Of one machine, and of the database with records and members."""

    with_records = True
    faults_survived = 8

    def fresh_url(self) -> str:
        self.of_the_database = clock()
        server = postgresql.PostgreSQL(
            databases.temporary_directory('postgresql'),
            self.of_the_database.env,
        )
        self.addCleanup(server.stop)
        server.start()
        return server.create_database('records')

    def test_jumps_change_nothing_at_all(self) -> None:
        self.deployment.live_for(incident.LONG)
        of_host1 = clock()
        self.deployment.environment = of_host1.env
        self.deployment.command = (sys.executable, jumping_host.__file__)
        one = self.launch('host1')
        self.deployment.environment, self.deployment.command = None, ()
        self.running = [one, self.launch('host2')]
        self.wait_for_members(*BOTH)
        self.wait_for_ring(self.enrol(), BOTH)
        with self.nothing_moves():
            for jumping in (of_host1, self.of_the_database):
                for seconds in (HOUR, 0, -HOUR, 0):
                    jumping.jump(seconds)
                    self.assert_all_is_well()
        for host in self.running:
            self.assertEqual(1, len(host.lines('joined as')), host.troubles())
            self.assertEqual([], host.lines('unexpected error'))


class TestClocksOfGalera(incident.IncidentTestCase):
    """Each of three hosts uses its own node of the cluster.

    Clocks that differ tell nothing of lapses: the history alone has to keep
    the laws.
    """

    with_records = True
    patience = math.inf
    faults_survived = 4

    def fresh_url(self) -> str:
        self.clocks = {number: clock() for number in (2, 3)}
        cluster = galera.Galera(
            databases.temporary_directory('galera'),
            env={number: one.env for number, one in self.clocks.items()},
        )
        self.addCleanup(cluster.stop)
        cluster.start()
        self.urls = cluster.create_database('skew')
        return self.urls[0]

    def skew(self) -> str | None:
        """Return what ``check`` finds about the clocks."""
        done = self.deployment.operate('check', '--long', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done)
        found = {one['code']: one for one in json.loads(done.stdout)}
        return found['clock_skew']['what'] if 'clock_skew' in found else None

    def by_kind(self, kind: EventKind) -> set[str | None]:
        """Return the hosts that events of a kind are about."""
        events = self.deployment.events()
        return {event.from_host for event in events if event.kind == kind}

    def set_clocks(self, second: float, third: float) -> None:
        self.clocks[2].jump(second)
        self.clocks[3].jump(third)

    def test_skew_changes_nothing_and_check_names_what_is_not_tolerated(
        self,
    ) -> None:
        self.set_clocks(TOLERATED, -TOLERATED)
        self.running = [
            self.deployment.start(name, database={'connection': url})
            for name, url in zip(ALL, self.urls, strict=True)
        ]
        uuids = self.enrolment.enrol(8)
        self.wait_for_ring(uuids, ALL)
        self.assertIsNone(self.skew())
        lost = self.lost_owners()
        for skew in (-HOUR, LARGE):
            # What its hint says.
            self.set_clocks(0, 0)
            self.deployment.wait_until(
                lambda: self.skew() is None, 'end of the finding'
            )
            self.set_clocks(skew, -skew)
            self.deployment.wait_until(self.skew, 'finding')
            self.assert_all_is_well(*ALL)
        self.assertEqual(lost, self.lost_owners())
        self.assertEqual(set(), self.by_kind(EventKind.SERVICE_FENCED))
        self.assertEqual(set(), self.by_kind(EventKind.SERVICE_DIED))
        # A server that is behind notices it later by the difference.
        self.running[0].kill()
        self.wait_for_ring(uuids, ('host2', 'host3'))
        self.assertEqual({'host1'}, self.by_kind(EventKind.SERVICE_DIED))
