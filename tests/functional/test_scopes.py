"""Lives of services that divide nodes by shard and by conductor group."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from ironic_ownership.contracts.events import EventKind
from tests.functional.support import hosts, ironics, member_expiry

EXCLUSIVE = 'conductor_group,shard_key'
SHARING = 'peer_list,conductor_group'
ODD: tuple[Mapping[str, object], ...] = (
    {'maintenance': 1},
    {'power_state': 'error'},
    {'provision_state': 'clean failed', 'maintenance': 1},
    {'provision_state': 'available', 'retired': 1},
    {'provision_state': 'no such state'},
    {'properties': None},
    {'properties': json.dumps({'cpus': 'many', 'memory_mb': None})},
    {'properties': json.dumps({'': {'a': [1, {}]}, 'x': 'y' * 9999})},
    {'name': None},
    {'driver': 'no-such-driver'},
    {'instance_uuid': 'not a uuid'},
)
"""What is set in one node each, behind the back of Ironic's API."""


def given(owners: Mapping[str, Collection[str]]) -> dict[str, str]:
    return {uuid: host for host, uuids in owners.items() for uuid in uuids}


class ScopesTest(hosts.HostsTestCase):
    def enrol(
        self, shard: str | None, group: str = '', count: int = 3
    ) -> list[str]:
        return self.enrolment.enrol(
            count, shard=shard, conductor_group=group, instance_share=0.34
        )

    def wait_for_line(self, host: hosts.Host, text: str) -> None:
        self.deployment.wait_until(lambda: host.lines(text), text)

    def set_columns(self, values: Mapping[str, Mapping[str, object]]) -> None:
        """Change nodes in one transaction: no service sees a part."""
        with self.server.sql() as database:
            for uuid, columns in values.items():
                for column, value in columns.items():
                    database.execute(
                        f'UPDATE nodes SET {column} = ? WHERE uuid = ?',
                        (value, uuid),
                    )

    def test_exclusive_services_own_what_is_in_their_scopes(self) -> None:
        """Scopes add up; the empty group is the default one; case counts."""
        both = self.enrol('s1', 'g1')
        shard = self.enrol('s2', 'g1') + self.enrol('s2', 'g3')
        group = self.enrol('s1', 'G2')
        odd = self.enrol(None, '', len(ODD))
        self.set_columns(dict(zip(odd, ODD, strict=True)))
        for foreign in ((None, 'g1'), ('S1', 'g1')):
            self.enrol(*foreign)
        one = self.deployment.start(
            'host1',
            EXCLUSIVE,
            ironic={'shard_key': 's1', 'conductor_group': 'G1'},
        )
        two = self.deployment.start(
            'host2', 'shard_key', ironic={'shard_key': 's2'}
        )
        for name, where in (('host3', 'g2'), ('host4', '')):
            self.deployment.start(
                name, 'conductor_group', ironic={'conductor_group': where}
            )
        owners = given(
            {'host1': both, 'host2': shard, 'host3': group, 'host4': odd}
        )
        self.deployment.wait_for_owners(owners)
        for host in self.deployment.hosts:
            self.assertEqual([], host.lines('refresh failed'))
        # Nodes that change their shard stay, and are reported.
        moved = {uuid: {'shard': 's2'} for uuid in both[:2]}
        self.set_columns(moved)
        self.wait_for_line(one, '2 nodes owned here, but out of scope')
        self.wait_for_line(two, 'on record with host1: 2 nodes that host2')
        self.set_columns({uuid: {'shard': 's1'} for uuid in moved})
        self.wait_for_line(one, 'no more nodes owned here, but out of scope')
        # A dead service loses nothing; the others refresh again.
        one.kill()
        member_expiry.bury(self.deployment, 'host1')
        self.deployment.wait_for_members('host2', 'host3', 'host4')
        owners |= given(
            {'host2': self.enrol('s2', 'g3'), 'host3': self.enrol(None, 'g2')}
        )
        self.enrol('s1', 'g1')
        self.deployment.wait_for_owners(owners)

    def test_free_node_that_changes_group_is_released_and_claimed(
        self,
    ) -> None:
        """Two rings, one of each group; a service of no ring of theirs."""
        names = ('host1', 'host2', 'host3', 'host4')
        for name, group in zip(names, ('g1', 'G1', 'g2', 'g2'), strict=True):
            self.deployment.start(
                name, SHARING, ironic={'partition_key': group}
            )
        self.deployment.wait_for_members(*names)
        deployed, free, *_ = uuids = self.enrol('s1', 'g1')
        self.enrol('s1', 'g3')
        before = self.deployment.wait_for_ring(uuids, names[:2])
        for uuid in (deployed, free):
            self.enrolment.set_conductor_group(uuid, 'g2')
        self.deployment.wait_until(
            lambda: self.deployment.owners()[free] in names[2:],
            'new owner of the free node',
        )
        after = self.deployment.owners()
        keeper = next(
            h for h in self.deployment.hosts if h.name == before[deployed]
        )
        self.wait_for_line(keeper, '1 node owned here, but out of scope')
        self.assertEqual(before | {free: after[free]}, after)
        changes = [
            (event.from_host, event.to_host)
            for event in self.deployment.events()
            if event.node_uuid == free
        ]
        self.assertEqual(
            [(None, before[free]), (before[free], None), (None, after[free])],
            changes,
        )

    def test_successor_of_peers_waits_for_the_operator(self) -> None:
        """Services without an assigner take nothing from anyone."""
        peers = ('host1', 'host2')
        running = [self.deployment.start(name) for name in peers]
        self.deployment.wait_for_members(*peers)
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        owners = self.deployment.wait_for_ring(uuids, peers)
        for peer in running:  # before one of them takes over from the other
            peer.kill()
        member_expiry.bury(self.deployment, *peers)
        changes = [e for e in self.deployment.events() if e.node_uuid]
        first = self.deployment.start('ironic', 'all')
        for peer in peers:
            self.wait_for_line(first, f'on record with {peer}')
            (line,) = first.lines(f'on record with {peer}')
            self.assertIn(' WARNING ', line)
            self.assertIn('compute node move ', line)
            self.assertIn('--to ironic', line)
        self.assertEqual(
            changes, [e for e in self.deployment.events() if e.node_uuid]
        )
        # A node without an owner becomes its own immediately.
        owners |= dict.fromkeys(self.enrolment.enrol(2), 'ironic')
        self.deployment.wait_for_owners(owners)
        second = self.deployment.start('another', 'all')
        for host in (first, second):
            self.wait_for_line(host, 'nodes admitted by several services')
        self.deployment.wait_for_beats('another', 4)
        self.assertEqual(owners, self.deployment.owners())

    def test_sigterm_ends_a_scan_that_hangs(self) -> None:
        proxy = ironics.HoldingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        self.enrolment.enrol(2)
        with proxy.holding('/v1/nodes') as asked:
            host = self.deployment.start(
                'host1', 'all', ironic={'endpoint_override': proxy.url}
            )
            self.assertTrue(asked.wait(hosts.TIMEOUT))
            self.assertEqual(0, host.terminate())
        self.assertEqual(frozenset(), self.deployment.members())
        self.assertEqual({}, self.deployment.owners())

    def test_mass_loss_changes_nothing_and_is_reported_once(self) -> None:
        host = self.deployment.start('host1', 'all')
        uuids = self.enrolment.enrol(10, prefix='mass', same_every_time=True)
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        before = self.deployment.owners(), self.deployment.events()
        self.enrolment.delete_all(uuids[:6])
        self.wait_for_line(host, 'are missing from Ironic')
        # As many heartbeats as there are in several refreshes.
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(
            before, (self.deployment.owners(), self.deployment.events())
        )
        self.assertEqual(1, len(host.lines('missing from Ironic')))
        self.enrolment.clear()
        self.enrolment.enrol(10, prefix='mass', same_every_time=True)
        self.wait_for_line(host, 'mass loss is over')
        # One of them is deleted alone: forgotten, and revived as it was.
        (gone,) = uuids[:1]
        self.enrolment.delete(gone)
        self.deployment.wait_until(
            lambda: gone not in self.deployment.owners(), 'oblivion'
        )
        self.enrolment.clear()
        self.enrolment.enrol(10, prefix='mass', same_every_time=True)
        self.deployment.wait_for_owners(before[0])
        self.assertEqual(
            [
                EventKind.OWNER_CHANGED,
                EventKind.NODE_FORGOTTEN,
                EventKind.OWNER_CHANGED,
            ],
            [e.kind for e in self.deployment.events() if e.node_uuid == gone],
        )
