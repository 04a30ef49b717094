"""A running deployment goes from one membership backend to another.

Hosts on different backends do not see each other. The records are the same
for all, so no node is ever owned twice: the laws are proven after each test.
"""

from __future__ import annotations

import itertools

from ironic_ownership.contracts.events import EventKind
from tests.functional import test_lives
from tests.functional.support import coordination, hosts

HOSTS = test_lives.HOSTS
_groups = itertools.count(1)


class SwitchTest(test_lives.LifeTestCase):
    """From ``db`` to etcd."""

    def setUp(self) -> None:
        super().setUp()
        self.deployment.more = {'membership': test_lives.GRACE}
        self.etcd: hosts.Sections = {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {
                'backend_url': coordination.server('etcd').url,
                'group': f'switch-{next(_groups)}',
            },
        }

    def begin_on_etcd(
        self, name: str, policies: str = 'peer_list', **more: object
    ) -> hosts.Host:
        started = self.deployment.start(name, policies, **self.etcd, **more)
        self.deployment.wait_until(
            lambda: started.lines('registered, epoch'), 'registration'
        )
        return started

    def share(self) -> tuple[list[hosts.Host], dict[str, str]]:
        """Start three hosts on the database, and share nodes by the ring."""
        running = self.start(*HOSTS)
        owners = test_lives.ring_of(self.enrol()[0], HOSTS)
        self.deployment.wait_for_owners(owners)
        return [*running.values()], owners

    def test_all_stopped_and_started_moves_nothing(self) -> None:
        running, owners = self.share()
        for host in running:
            self.assertEqual(0, host.terminate())
        self.assertEqual(
            {True}, {row.away for row in self.deployment.records.services()}
        )
        last = self.last_event()
        for name in HOSTS:
            self.begin_on_etcd(name)
        self.deployment.wait_until(lambda: self.see_each_other(HOSTS), 'view')
        self.assertEqual(frozenset(), self.deployment.members())
        # Their owner has read all nodes, and knows all hosts.
        new = test_lives.ring_of(self.enrol(12)[0], HOSTS)
        self.deployment.wait_for_owners(owners | new)
        self.assertEqual(
            sorted(new), sorted(str(e.node_uuid) for e in self.changes(last))
        )

    def test_one_by_one_with_a_ring_owns_nothing_twice(self) -> None:
        running, owners = self.share()
        for number, host in enumerate(running):
            self.assertEqual(0, host.terminate())
            self.begin_on_etcd(host.name)
            if number == 0:
                # Each side takes the other for dead, and takes it over.
                self.deployment.wait_until(
                    lambda: len(self.fenced()) > 1, 'fences of each other'
                )
        self.deployment.wait_for_owners(owners)

    def fenced(self) -> set[str | None]:
        """Return the hosts that another host fenced."""
        return {
            event.from_host
            for event in self.deployment.events()
            if event.kind == EventKind.SERVICE_FENCED
        }

    def test_one_by_one_without_an_assigner_moves_nothing(self) -> None:
        """Each side takes the other for dead, which changes no owner."""
        owners: dict[str, str] = {}
        running = {}
        for name in HOSTS[:2]:
            running[name] = self.deployment.start(
                name, 'shard_key', ironic={'shard_key': name}
            )
            uuids = self.enrolment.enrol(4, shard=name, instance_share=0.5)
            owners |= dict.fromkeys(uuids, name)
        self.deployment.wait_for_owners(owners)
        last = self.last_event()
        for name, host in running.items():
            self.assertEqual(0, host.terminate())
            self.begin_on_etcd(name, 'shard_key', ironic={'shard_key': name})
            (new,) = self.enrolment.enrol(1, shard=name)
            owners[new] = name
            self.deployment.wait_for_owners(owners)
        self.assertEqual(2, len(self.changes(last)))
