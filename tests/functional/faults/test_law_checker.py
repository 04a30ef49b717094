"""The law checker of all incidents finds a fence broken on purpose."""

from __future__ import annotations

import sys
import unittest

from tests.functional.faults.support import (
    incident,
    observer,
    unfenced_host,
)
from tests.functional.support import hosts, laws


class TestLawChecker(incident.IncidentTestCase):
    def assert_lawful(self, deployment: hosts.Deployment) -> None:
        """Let it pass: here each test says what has to be found."""
        assert isinstance(deployment, incident.Deployment)
        found = laws.violations(deployment.records, deployment.evidence())
        self.note(deployment, found, broken=True)

    def start_unfenced(self, policies: str, epochs: str = '') -> hosts.Host:
        """Start ``host1`` without a fence, and wait until it owns nodes."""
        deployment = self.deployment
        deployment.command = (sys.executable, unfenced_host.__file__)
        deployment.environment = {unfenced_host.VARIABLE: epochs}
        started = deployment.launch('host1', policies)
        deployment.command, deployment.environment = (), None
        self.wait_for_owner(self.enrolment.enrol(8), 'host1')
        return started

    def wait_for_violation(self, words: str) -> None:
        """Wait until the law checker finds something."""
        deployment = self.deployment
        deployment.wait_until(
            lambda: any(
                words in found
                for found in laws.violations(
                    deployment.records, deployment.evidence()
                )
            ),
            f'violation: {words}',
        )

    def test_write_after_the_membership_ended_is_found(self) -> None:
        # No other service exists: it is not fenced, and no epoch is wrong.
        self.start_unfenced('all')
        self.wait_for_lapse('host1', self.deployment.last_event())
        self.wait_for_owner(self.enrolment.enrol(4), 'host1')
        self.wait_for_violation('law 1: the right of the actor had lapsed')

    def test_write_with_an_old_epoch_is_found(self) -> None:
        self.start_unfenced('peer_list', unfenced_host.IGNORED)
        self.deployment.launch('host2')
        self.wait_for_violation('law 1: actor is fenced')

    def test_write_beside_the_process_that_took_over_is_found(self) -> None:
        self.start_unfenced('all', unfenced_host.IGNORED)
        second = self.deployment.launch('host1', 'all')
        self.deployment.wait_until(
            lambda: second.lines('registered, epoch'), 'take-over'
        )
        second.freeze()
        self.wait_for_owner(self.enrolment.enrol(4), 'host1')
        self.wait_for_violation('while host1_2 is active')


class TestUnserved(unittest.TestCase):
    """Looks at one free node; services act for ten seconds blindly."""

    def setUp(self) -> None:
        super().setUp()
        self.unserved = observer.Unserved(lambda: 10)

    def see(self, at: float, owner: str | None, *members: str) -> None:
        self.unserved.see(at, {'node': owner}, members)

    def test_time_until_another_member_owns_it(self) -> None:
        self.see(1, 'host1', 'host1', 'host2')
        self.see(2, 'host1', 'host2')
        self.see(4, None, 'host2')
        self.see(7, 'host2', 'host2')
        self.see(9, 'host2', 'host2')
        self.assertEqual(5, self.unserved.longest)

    def test_time_that_has_not_ended_counts(self) -> None:
        self.see(1, None, 'host1')
        self.see(4, None, 'host1')
        self.assertEqual(3, self.unserved.longest)

    def test_time_without_an_answer_counts_after_the_end_of_rights(
        self,
    ) -> None:
        self.see(1, 'host1', 'host1')
        self.see(10, 'host1', 'host1')
        self.assertEqual(0, self.unserved.longest)
        self.see(34, 'host1', 'host1')
        self.assertEqual(14, self.unserved.longest)

    def test_node_with_an_instance_is_not_counted(self) -> None:
        self.see(1, None, 'host1')
        self.unserved.see(5, {}, ['host1'])
        self.see(8, None, 'host1')
        self.assertEqual(0, self.unserved.longest)
