"""Ironic or the database fails under hosts at work: nothing changes."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import itertools

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import hosts, ironics

Answer = tuple[int, list[tuple[str, str]], bytes]

JSON = [('Content-Type', 'application/json')]
FAULTS: dict[str, Answer | None] = {
    'an error': (500, JSON, b'{"error_message": "no"}'),
    'half an answer': (200, JSON, b'{"nodes": [{"uuid": "00'),
    'a refusal': (403, JSON, b''),
    'no answer': None,
}


class FaultyProxy(ironics.RecordingProxy):
    """Answers every page but the first with a fault, when told to.

    :ivar fault: one of ``FAULTS``, or nothing.
    :ivar faults: how often it was the answer.
    """

    fault: str | None = None
    faults = 0

    def hand_on(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        with contextlib.suppress(ConnectionError):  # who asked is gone
            super().hand_on(handler)

    def _ask(self, handler: http.server.BaseHTTPRequestHandler) -> Answer:
        fault = self.fault  # which the test may end meanwhile
        if fault is None or 'marker=' not in handler.path:
            return super()._ask(handler)
        self.faults += 1
        answer = FAULTS[fault]
        if answer is None:
            raise http.client.RemoteDisconnected
        return answer


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

    def test_fault_between_two_pages_changes_nothing(self) -> None:
        proxy = FaultyProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        uuids = self.enrolment.enrol(7)
        host = self.deployment.start(
            'host1',
            'all',
            # Each refresh lists all nodes, on three pages.
            ownership={'full_refresh_interval': 0},
            ironic={'endpoint_override': proxy.url, 'page_size': 3},
        )
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        for times, fault in enumerate(FAULTS, start=1):
            before = self.deployment.events()
            proxy.fault, proxy.faults = fault, 0
            self.deployment.wait_until(lambda: proxy.faults, fault)
            # On the first page, on the last page, and on none any more.
            self.enrolment.set_instance(
                uuids[0], f'00000000-0000-0000-0000-00000000000{times}'
            )
            gone = uuids.pop()
            self.enrolment.delete(gone)
            uuids += self.enrolment.enrol(1)
            seen = proxy.faults
            self.deployment.wait_until(
                lambda seen=seen: proxy.faults > seen + 1, fault
            )
            self.assertEqual(before, self.deployment.events(), fault)
            proxy.fault = None
            self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
            self.wait_for(host, 'refresh succeeded again', times)
            self.enrolment.set_instance(uuids[0], None)
            self.deployment.wait_until(self.no_instance, 'its end')
        self.assertEqual(len(FAULTS), len(host.lines('refresh failed')))

    def no_instance(self) -> bool:
        nodes = self.deployment.records.compute_nodes()
        return not any(node.instance_uuid for node in nodes)

    def test_write_that_waited_beyond_the_fence_is_not_made(self) -> None:
        uuids = self.enrolment.enrol(3)
        self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        before = len(self.deployment.events())
        with self.deployment.locked():
            uuids += self.enrolment.enrol(2)
            self.deployment.wait_until(
                lambda: not self.deployment.members(), 'end of the membership'
            )
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        first, *others = self.deployment.events()[before:]
        self.assertEqual(EventKind.SERVICE_REGISTERED, first.kind)
        self.assertEqual(2, len(others))

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
