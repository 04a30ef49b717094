"""A running deployment goes from one membership backend to another.

Hosts on different backends do not see each other. The records are the same
for all, so no node is ever owned twice: the laws are proven after each test.
"""

from __future__ import annotations

import itertools

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import coordination, hosts
from tests.functional.test_failover import HOSTS, ring_of

_groups = itertools.count(1)
GRACE = {'restart_grace': 600}


class TestSwitch(hosts.HostsTestCase):
    """From ``db`` to etcd."""

    def setUp(self) -> None:
        super().setUp()
        url = coordination.server('etcd').url
        group = f'switch-{next(_groups)}'
        self.etcd = {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {'backend_url': url, 'group': group},
        }
        self.watcher = coordination.build(url, group)
        self.addCleanup(self.watcher.close)

    def start(self, name: str, **more: object) -> hosts.Host:
        return self.deployment.start(name, membership=GRACE, **more)

    def switch(self, host: hosts.Host, **more: object) -> hosts.Host:
        """Stop a host, and start it on etcd; return when it serves there."""
        self.assertEqual(0, host.terminate())
        started = self.start(host.name, **self.etcd, **more)
        self.deployment.wait_until(
            lambda: started.lines('registered, epoch'), 'registration'
        )
        self.assertIn(host.name, self.watcher.view().hosts)
        return started

    def shared(self) -> tuple[list[hosts.Host], dict[str, str]]:
        """Start three hosts on the database, and share nodes by the ring."""
        running = [self.start(name) for name in HOSTS]
        # One that did not would keep deployed nodes of the others.
        self.deployment.wait_for_members(*HOSTS)
        uuids = self.enrolment.enrol(24, instance_share=0.25)
        owners = ring_of(uuids, HOSTS)
        self.deployment.wait_for_owners(owners)
        return running, owners

    def know_each_other(self) -> bool:
        """Tell whether all hosts are members on etcd, and have seen that."""
        view, rows = self.watcher.view(), self.deployment.records.services()
        return view.hosts == set(HOSTS) and {view.checksum} == {
            row.view_checksum for row in rows
        }

    def changes(self, after: int = 0) -> list[str | None]:
        """Return the nodes whose owner changed, one entry per change."""
        return [
            event.node_uuid
            for event in self.deployment.events()
            if event.kind == EventKind.OWNER_CHANGED and event.id > after
        ]

    def test_all_stopped_and_started_moves_nothing(self) -> None:
        running, owners = self.shared()
        for host in running:
            self.assertEqual(0, host.terminate())
        self.assertEqual(
            {True}, {row.away for row in self.deployment.records.services()}
        )
        last = self.deployment.events()[-1].id
        for name in HOSTS:
            self.start(name, **self.etcd)
        self.deployment.wait_until(self.know_each_other, 'members on etcd')
        self.assertEqual(frozenset(), self.deployment.members())
        # Their owner has read all nodes, and knows all hosts.
        new = ring_of(self.enrolment.enrol(12), HOSTS)
        self.deployment.wait_for_owners(owners | new)
        self.assertEqual(sorted(new), sorted(self.changes(last)))

    def test_one_by_one_with_a_ring_owns_nothing_twice(self) -> None:
        running, owners = self.shared()
        self.switch(running[0])
        # Each side takes the other for dead, and takes it over.
        self.deployment.wait_until(
            lambda: len(set(self.fenced())) > 1, 'hosts that fence each other'
        )
        for host in running[1:]:
            self.switch(host)
        self.deployment.wait_for_owners(owners)

    def fenced(self) -> list[str | None]:
        """Return the hosts that another host fenced."""
        return [
            event.from_host
            for event in self.deployment.events()
            if event.kind == EventKind.SERVICE_FENCED
        ]
