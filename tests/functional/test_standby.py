"""Two processes of one host: one is active, the other one stands by."""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import command_line, hosts


class StandbyTest(hosts.HostsTestCase):
    def begin(self, **membership: float) -> None:
        """Let one process serve, and another one stand by for it."""
        self.deployment.more = {'membership': membership}
        uuids = self.enrolment.enrol(8, instance_share=0.5)
        self.owned = dict.fromkeys(uuids, 'host1')
        self.first = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners(self.owned)
        self.active = self.wait_for_active()
        self.second = self.deployment.start('host1', 'all')
        self.wait_for_standby(self.second)
        self.before = self.changes()

    def said(self, *words: str) -> Any:
        """Run a command with the configuration of the first process."""
        done = command_line.run(
            '--config-file', str(self.first.config), *words, '-f', 'json'
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def changes(self) -> list[str]:
        """Return the nodes that changed owner, as often as they did."""
        return [
            str(event.node_uuid)
            for event in self.deployment.events()
            if event.kind == EventKind.OWNER_CHANGED
        ]

    def wait_for_active(self, *others: str | None) -> str:
        """Wait until none of these is active, but another process is."""

        def ready() -> bool:
            row = self.deployment.service('host1')
            return not row.fenced and row.incarnation not in (None, *others)

        self.deployment.wait_until(ready, 'active process')
        return str(self.deployment.service('host1').incarnation)

    def wait_for_standby(self, host: hosts.Host) -> None:
        self.deployment.wait_until(
            lambda: host.lines('stands by for incarnation'), 'standby'
        )

    def roles(self) -> dict[str, str]:
        return {
            member['incarnation']: member['role']
            for member in self.said('member', 'list')
        }

    def assert_works(self) -> None:
        """See that a service is active, and that nothing changed owner."""
        (more,) = self.enrolment.enrol(1)
        self.deployment.wait_for_owners(self.owned | {more: 'host1'})
        self.assertEqual([*self.before, more], self.changes())

    def test_planned_switch_goes_there_and_back(self) -> None:
        # No death on a slow machine.
        self.begin(member_ttl=600)
        (standby,) = self.roles().keys() - {self.active}
        shown = self.said('service', 'failover', 'HOST1', '--yes')
        self.assertEqual(
            ('host1', self.active, standby, True, False),
            (
                shown['host'],
                shown['from_incarnation'],
                shown['to_incarnation'],
                shown['done'],
                shown['dry_run'],
            ),
        )
        self.wait_for_standby(self.first)
        self.assertEqual(
            {standby: 'active', self.active: 'standby'}, self.roles()
        )
        self.assertEqual(1, self.said('service', 'show', 'host1')['standbys'])
        again = self.said('service', 'failover', 'host1', '--yes')
        self.assertEqual(self.active, again['to_incarnation'])
        self.assert_works()

    def test_standby_takes_over_when_the_active_one_dies(self) -> None:
        self.begin()
        (standby,) = self.roles().keys() - {self.active}
        self.first.kill()
        self.assertEqual(standby, self.wait_for_active(self.active))
        self.assert_works()
