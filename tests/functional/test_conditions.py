"""A service that does nothing is never green: real hosts, a real Ironic."""

from __future__ import annotations

import json

from lab import proxy
from tests.functional.support import hosts


class ConditionsTest(hosts.HostsTestCase):
    """A host whose Ironic does not answer, and what commands say of it."""

    def shown(self) -> tuple[set[str], str | None]:
        """Return the codes of ``check``, and what the list shows."""
        done = self.deployment.operate('check', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        codes = {p['code'] for p in json.loads(done.stdout)}
        done = self.deployment.operate('service', 'list', '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        (row,) = json.loads(done.stdout)
        return codes, row['conditions']

    def wait_for(self, conditions: str, code: str = '') -> None:
        """Wait until both show it; nothing else if there is no code."""

        def is_shown() -> bool:
            codes, listed = self.shown()
            found = code in codes if code else not codes
            return found and listed == conditions

        self.deployment.wait_until(is_shown, conditions)

    def test_service_is_shown_as_long_as_it_does_nothing(self) -> None:
        between = proxy.Proxy(self.server.port)
        self.addCleanup(between.close)
        between.cut()
        url = f'http://127.0.0.1:{between.port}'
        host = self.deployment.start(
            'host1', 'all', ironic={'endpoint_override': url}
        )
        # There is a database, which the host makes.
        self.deployment.wait_until(self.deployment.records.now)
        self.wait_for('start', 'start_stalled')
        self.assertEqual(frozenset(), self.deployment.members())
        between.forward()
        (uuid,) = self.enrolment.enrol(1)
        self.deployment.wait_for_owners({uuid: 'host1'})
        self.wait_for('ok')
        before = self.deployment.events()
        between.cut()
        self.wait_for('refresh', 'refresh_stalled')
        self.assertEqual(before, self.deployment.events())
        between.forward()
        self.wait_for('ok')
        # Each is logged once, however long it takes.
        for text in (
            'waiting to start: ',
            'database and Ironic answer',
            'refresh succeeded again',
            'joined as',
        ):
            self.assertEqual(1, len(host.lines(text)), host.troubles())
        # As of a process that still beats, and stores nothing any more.
        with self.deployment.database.engine.begin() as conn:
            conn.exec_driver_sql(
                'UPDATE condition_reports SET reported_at = reported_at - 60'
            )
            conn.exec_driver_sql(
                'CREATE TRIGGER mute BEFORE UPDATE ON condition_reports '
                'BEGIN SELECT RAISE(IGNORE); END'
            )
        self.wait_for('unknown', 'conditions_outdated')
