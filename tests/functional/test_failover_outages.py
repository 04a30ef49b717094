"""Ironic or the database fails under hosts at work: nothing changes."""

from __future__ import annotations

import itertools

from tests.functional.support import hosts

# Here no service dies, and a slow machine is no reason to join again.
PATIENT = {'heartbeat_interval': 1, 'member_ttl': 60}


class TestOutages(hosts.HostsTestCase):
    def wait_for(self, host: hosts.Host, text: str, times: int = 1) -> None:
        self.deployment.wait_until(
            lambda: len(host.lines(text)) >= times, f'{times} x {text!r}'
        )

    def test_ironic_down_at_start_and_in_the_middle(self) -> None:
        uuids = self.enrolment.enrol(6)
        self.server.kill()
        host = self.deployment.start('host1', 'all', membership=PATIENT)
        self.wait_for(host, 'waiting to start: Ironic does not answer')
        self.assertEqual(frozenset(), self.deployment.members())
        self.server.start()
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        refused = 'Connection refused'
        heard = len(host.lines(refused))
        self.server.kill()
        self.wait_for(host, refused, heard + 1)
        before = self.deployment.events()
        # As many heartbeats as there are in several refreshes.
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(before, self.deployment.events())
        self.server.start()
        uuids += self.enrolment.enrol(2)
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        self.assert_said_once(host, 'waiting to start', 'Ironic answer')
        self.assert_said_once(
            host, 'refresh failed', 'refresh succeeded again'
        )
        self.assertEqual(1, len(host.lines('database and Ironic answer')))
        self.assertEqual(1, len(host.lines('joined as')), host.troubles())

    def assert_said_once(
        self, host: hosts.Host, wrong: str, right: str
    ) -> None:
        """See what is wrong told in other words only, and its end once.

        A server that goes down or comes up may fail in several ways.
        """

        def said() -> list[str]:
            return [
                line.partition('[-] ')[2]
                for line in host.lines()
                if wrong in line or right in line
            ]

        self.deployment.wait_until(lambda: right in said()[-1], right)
        self.assertIn(wrong, said()[0])
        for one, next_ in itertools.pairwise(said()):
            self.assertNotEqual(one, next_)

    def test_locked_out_hosts_stop_at_their_fence_and_come_back(self) -> None:
        running = [self.deployment.start(h) for h in ('host1', 'host2')]
        self.deployment.wait_for_members('host1', 'host2')
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        self.deployment.wait_until(
            lambda: self.deployment.owners().keys() == set(uuids), 'owners'
        )
        before = self.deployment.owners(), self.deployment.events()
        with self.deployment.locked():
            for host in running:
                self.deployment.wait_until(
                    lambda host=host: host.lines('no valid membership'),
                    'fence',
                )
            self.assertEqual(
                before, (self.deployment.owners(), self.deployment.events())
            )
            uuids += self.enrolment.enrol(6)
        self.deployment.wait_until(
            lambda: (
                self.deployment.owners().keys() == set(uuids)
                and before[0].items() <= self.deployment.owners().items()
            ),
            'recovery',
        )
        for host in running:
            self.assertIsNone(host.process.returncode)
            self.assert_said_once(
                host, 'heartbeat failed', 'heartbeat succeeded again'
            )
