"""Two processes of one host: one is active, the other one stands by.

And a service that is stopped for a while, whose nodes wait for it.
"""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db import heartbeats
from tests.functional import test_failover
from tests.functional.support import command_line, hosts, member_expiry

PATIENT = {'membership': {'member_ttl': 600}}
"""For what does not wait for a death: a slow machine must not cause one."""

GRACE = {'membership': {'restart_grace': 3600}}


class _Case(hosts.HostsTestCase):
    def program(self, *words: str) -> command_line.Done:
        """Run a command with the configuration of the first process."""
        config = str(self.deployment.hosts[0].config)
        return command_line.run('--config-file', config, *words)

    def said(self, *words: str) -> Any:
        done = self.program(*words, '-f', 'json')
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
            return (
                row.incarnation is not None
                and not row.fenced
                and row.incarnation not in others
            )

        self.deployment.wait_until(ready, 'active process')
        return str(self.deployment.service('host1').incarnation)

    def wait_for_standby(self, host: hosts.Host) -> None:
        self.deployment.wait_until(
            lambda: host.lines('stands by for incarnation'), 'standby'
        )


class _TwoProcesses(_Case):
    patient = False

    def setUp(self) -> None:
        super().setUp()
        if self.patient:
            self.deployment.more = PATIENT
        self.uuids = self.enrolment.enrol(8, instance_share=0.5)
        self.first = self.deployment.start('host1', 'all')
        self.owned = dict.fromkeys(self.uuids, 'host1')
        self.deployment.wait_for_owners(self.owned)
        self.active = self.wait_for_active()
        self.second = self.deployment.start('host1', 'all')
        self.wait_for_standby(self.second)
        self.before = self.changes()

    def roles(self) -> dict[str, str]:
        return {
            member['incarnation']: member['role']
            for member in self.said('member', 'list')
        }

    def standby(self) -> str:
        roles = self.roles()
        (found,) = (i for i, role in roles.items() if role == 'standby')
        return found

    def assert_works(self) -> None:
        """See that a service is active, and that nothing changed owner."""
        (more,) = self.enrolment.enrol(1)
        self.deployment.wait_for_owners(self.owned | {more: 'host1'})
        self.assertEqual([*self.before, more], self.changes())


class TestStandby(_TwoProcesses):
    patient = True

    def test_planned_switch_goes_there_and_back(self) -> None:
        standby = self.standby()
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
        self.assertEqual(
            self.active, self.deployment.service('host1').incarnation
        )
        registered = [
            event
            for event in self.deployment.events()
            if event.kind == EventKind.SERVICE_REGISTERED
        ]
        self.assertEqual(3, len(registered))


class TestDeath(_TwoProcesses):
    def test_standby_takes_over_when_the_active_one_dies(self) -> None:
        standby = self.standby()
        self.first.kill()
        self.assertEqual(standby, self.wait_for_active(self.active))
        self.assert_works()

    def test_frozen_active_one_comes_back_as_a_standby(self) -> None:
        self.deployment.wait_for_beats('host1', 1)
        member_expiry.freeze(self.deployment, self.first)
        new = self.wait_for_active(self.active)
        self.first.thaw()
        self.wait_for_standby(self.first)
        self.assert_works()
        self.assertEqual(new, self.deployment.service('host1').incarnation)


class TestRestart(_Case):
    """host1 is stopped by SIGTERM; its peer, host2, goes on."""

    def setUp(self) -> None:
        super().setUp()
        both = ('host1', 'host2')
        self.first, self.peer = (
            self.deployment.start(name, **GRACE) for name in both
        )
        # Before, the first would adopt nodes with an instance, which stay.
        self.deployment.wait_for_members(*both)
        self.uuids = self.enrolment.enrol(24, instance_share=0.25)
        self.shared = test_failover.ring_of(self.uuids, both)
        self.deployment.wait_for_owners(self.shared)
        # After each heartbeat a service reads the members.
        for _ in range(2):
            self.wait_for_heartbeat('host2')
        self.deployed = set(self.uuids[:6])
        self.alone = {
            uuid: owner if uuid in self.deployed else 'host2'
            for uuid, owner in self.shared.items()
        }

    def wait_for_heartbeat(self, host: str) -> None:
        before = self.expiries(host)
        self.deployment.wait_until(
            lambda: self.expiries(host) != before, 'heartbeat'
        )

    def expiries(self, host: str) -> list[float]:
        return [
            beat.expires_at
            for beat in heartbeats.last(self.deployment.database)
            if beat.member.host == host
        ]

    def stop(self) -> None:
        self.assertEqual(0, self.first.terminate())
        self.assertEqual({'host2'}, self.deployment.members())

    def wait_for_look(self) -> None:
        """Wait until the peer has seen that host1 is not there."""
        self.deployment.wait_until(
            lambda: self.peer.lines('host1 died: '), 'look'
        )
        more = self.enrolment.enrol(12)
        self.shared |= test_failover.ring_of(more, ('host1', 'host2'))
        mine = {u for u, host in self.shared.items() if host == 'host2'}
        self.deployment.wait_until(
            lambda: self.deployment.owned_by('host2') == mine, 'refresh'
        )

    def test_nodes_wait_for_a_service_that_is_away(self) -> None:
        self.stop()
        self.wait_for_look()
        self.assertEqual(
            {'host1': 'away', 'host2': 'up'},
            {s['host']: s['alive'] for s in self.said('service', 'list')},
        )
        before = self.changes()
        self.deployment.start('host1', **GRACE)
        self.deployment.wait_for_owners(self.shared)
        new = {u for u, h in self.shared.items() if h == 'host1'}
        self.assertEqual(
            new - set(self.uuids), set(self.changes()[len(before) :])
        )
