"""Two processes of one host: the standby takes over, and nothing moves."""

from __future__ import annotations

from tests.functional.faults.support import incident
from tests.functional.support import hosts


class TestStandby(incident.IncidentTestCase):
    """The host ``host1`` has a standby; ``host2`` would take its nodes."""

    def setUp(self) -> None:
        super().setUp()
        self.deployment.live_for(incident.STEADY)
        self.active, _ = self.start('host1', 'host2')
        self.standby = self.deployment.launch('host1')
        self.wait_until_it_stands_by(self.standby)
        uuids, _ = self.enrol()
        self.owners = self.wait_for_ring(uuids, ('host1', 'host2'))

    def wait_until_it_stands_by(self, process: hosts.Host) -> None:
        self.deployment.wait_until(
            lambda: process.lines('stands by for incarnation'), 'standby'
        )

    def assert_taken_over_by(self, process: hosts.Host) -> None:
        """See a process become active, and its host work on."""
        self.deployment.wait_until(
            lambda: process.lines('registered, epoch'), 'take-over'
        )
        self.wait_for_members('host1', 'host2')
        more, _ = self.enrol(8)
        self.wait_for_ring(more, ('host1', 'host2'))
        self.assertEqual(
            self.owners,
            {u: self.deployment.owners()[u] for u in self.owners},
        )

    def test_standby_takes_over_from_one_that_leaves(self) -> None:
        with self.nothing_moves():
            self.assertEqual(0, self.active.terminate())
            self.assert_taken_over_by(self.standby)

    def test_frozen_process_finds_its_standby_in_its_place(self) -> None:
        # The records know both by the same name: that the old process
        # writes nothing more is seen by who wrote.
        with self.nothing_moves():
            self.active.freeze()
            self.assert_taken_over_by(self.standby)
            self.active.thaw()
            self.wait_until_it_stands_by(self.active)
            self.standby.kill()
            self.assert_taken_over_by(self.active)

    def test_loss_of_the_standby_changes_nothing(self) -> None:
        epoch = self.epoch('host1')
        with self.nothing_moves():
            self.standby.kill()
            self.deployment.wait_until(
                lambda: len(self.deployment.processes('host1')) == 1, 'expiry'
            )
            more, _ = self.enrol(8)
            self.wait_for_ring(more, ('host1', 'host2'))
        self.assertEqual(epoch, self.epoch('host1'))

    def epoch(self, host: str) -> int:
        services = self.deployment.records.services()
        return next(s.epoch for s in services if s.host == host)
