"""Start, refusal and stop of a host, and its log."""

from __future__ import annotations

import json
import threading

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import hosts, ironics


class HangingProxy(ironics.RecordingProxy):
    """Answers no list of nodes until the test is over."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.hangs, self.answer = threading.Event(), threading.Event()
        self.before = self._hang

    def _hang(self, number: int) -> None:
        self.hangs.set()
        self.answer.wait(hosts.TIMEOUT)

    def stop(self) -> None:
        self.answer.set()
        super().stop()


class TestLifecycle(hosts.HostsTestCase):
    def test_sigterm_leaves_at_once_and_keeps_what_is_deployed(self) -> None:
        self.host = self.deployment.start('host1')
        self.deployment.wait_for_members('host1')
        uuids = self.enrolment.enrol(12, instance_share=0.5)
        deployed, free = uuids[:6], uuids[6:]
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        self.assertEqual(0, self.host.terminate())
        self.assertEqual(frozenset(), self.deployment.members())
        self.assertEqual('', self.host.output())
        self.assertEqual(
            dict.fromkeys(uuids, 'host1'), self.deployment.owners()
        )
        self.deployment.start('host2')
        self.deployment.wait_for_owners(
            dict.fromkeys(deployed, 'host1') | dict.fromkeys(free, 'host2')
        )

    def test_sigterm_ends_a_scan_that_hangs(self) -> None:
        proxy = HangingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        self.enrolment.enrol(2)
        host = self.deployment.start(
            'host1', 'all', ironic={'endpoint_override': proxy.url}
        )
        self.assertTrue(proxy.hangs.wait(hosts.TIMEOUT))
        self.assertEqual(0, host.terminate())
        self.assertFalse(proxy.answer.is_set())
        self.assertEqual(frozenset(), self.deployment.members())
        self.assertEqual({}, self.deployment.owners())

    def test_change_of_owner_is_one_line_as_text_and_as_json(self) -> None:
        # The first node ever is only made to be copied, and deleted again.
        self.enrolment.enrol(0)
        text = self.deployment.start('host1')
        jsons = self.deployment.start('host2', DEFAULT={'use_json': True})
        self.deployment.wait_for_members('host1', 'host2')
        uuids = self.enrolment.enrol(12)
        self.deployment.wait_until(
            lambda: (
                self.deployment.owners().keys() == set(uuids)
                and self.deployment.owned_by('host1')
                and self.deployment.owned_by('host2')
            ),
            'owners',
        )
        self.assertEqual(0, text.terminate())
        self.assertEqual(0, jsons.terminate())
        lines = text.lines(': owner ')
        self.assertEqual(lines, [x for x in lines if ' INFO ' in x])
        self.assertEqual(
            self.changes_by('host1'),
            sorted(line.partition('[-] ')[2] for line in lines),
        )
        records = [json.loads(line) for line in jsons.lines(': owner ')]
        self.assertEqual({'INFO'}, {r['levelname'] for r in records})
        self.assertEqual(
            self.changes_by('host2'), sorted(r['message'] for r in records)
        )

    def changes_by(self, host: str) -> list[str]:
        """Return the log lines of the changes that a host made."""
        return sorted(
            f'node {e.node_uuid}: owner {e.from_host or "none"} -> '
            f'{e.to_host or "none"}, reason {e.reason}'
            for e in self.deployment.events()
            if e.kind == EventKind.OWNER_CHANGED and e.actor == host
        )
