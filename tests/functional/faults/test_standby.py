"""Two processes of one host: the standby takes over, and nothing moves."""

from __future__ import annotations

from tests.functional.faults.support import incident
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import hosts


class TestStandby(incident.IncidentTestCase):
    """The host ``host1`` has a standby; ``host2`` would take its nodes."""

    faults_survived = 3

    def wait_for(self, process: hosts.Host, line: str) -> None:
        self.deployment.wait_until(lambda: process.lines(line), line)

    def assert_taken_over_by(self, process: hosts.Host) -> None:
        """See a process become active, and its host work on."""
        self.wait_for(process, 'registered, epoch')
        self.wait_for_members(*BOTH)
        self.wait_for_ring(self.enrol(8), BOTH)

    def test_frozen_process_finds_its_standby_in_its_place(self) -> None:
        # The records know both by the same name: that the old process
        # writes nothing more is seen by who wrote.
        self.deployment.live_for(incident.STEADY)
        self.share(*BOTH)
        active, standby = self.running[0], self.launch('host1')
        self.wait_for(standby, 'stands by for incarnation')
        with self.nothing_moves():
            active.freeze()
            self.assert_taken_over_by(standby)
            active.thaw()
            self.wait_for(active, 'stands by for incarnation')
            standby.kill()
            before = len(active.lines('registered, epoch'))
            self.deployment.wait_until(
                lambda: len(active.lines('registered, epoch')) > before,
                'return',
            )
            third = self.launch('host1')
            self.wait_for(third, 'stands by for incarnation')
            self.assertEqual(0, active.terminate())
            self.assert_taken_over_by(third)
