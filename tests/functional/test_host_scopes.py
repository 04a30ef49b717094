"""Hosts that divide nodes by shard and by conductor group."""

from __future__ import annotations

from collections.abc import Iterable

from tests.functional.support import hosts, member_expiry

EXCLUSIVE = 'conductor_group,shard_key'
SHARING = 'peer_list,conductor_group'


def given(owners: dict[str, Iterable[str]]) -> dict[str, str]:
    return {uuid: host for host, uuids in owners.items() for uuid in uuids}


class TestScopes(hosts.HostsTestCase):
    def enrol(
        self, shard: str | None, group: str = '', count: int = 3
    ) -> list[str]:
        return self.enrolment.enrol(
            count, shard=shard, conductor_group=group, instance_share=0.34
        )

    def start_exclusive(self, name: str, shard: str) -> hosts.Host:
        return self.deployment.start(
            name, 'shard_key', ironic={'shard_key': shard}
        )

    def wait_for_line(self, host: hosts.Host, text: str) -> None:
        self.deployment.wait_until(lambda: host.lines(text), text)

    def test_scopes_add_up_and_a_dead_host_loses_nothing(self) -> None:
        both = self.enrol('s1', 'g1')
        shard = self.enrol('s2', 'g1') + self.enrol('s2', 'g3')
        group = self.enrol('s1', 'G2')
        for foreign in (('s1', ''), (None, 'g1'), ('S1', 'g1')):
            self.enrol(*foreign)
        one = self.deployment.start(
            'host1',
            EXCLUSIVE,
            ironic={'shard_key': 's1', 'conductor_group': 'G1'},
        )
        self.start_exclusive('host2', 's2')
        self.deployment.start(
            'host3', 'conductor_group', ironic={'conductor_group': 'g2'}
        )
        owners = given({'host1': both, 'host2': shard, 'host3': group})
        self.deployment.wait_for_owners(owners)
        one.kill()
        member_expiry.bury(self.deployment, 'host1')
        self.deployment.wait_for_members('host2', 'host3')
        # Both of the others refresh again before all is compared.
        owners |= given(
            {'host2': self.enrol('s2'), 'host3': self.enrol(None, 'g2')}
        )
        self.enrol('s1', 'g1')
        self.deployment.wait_for_owners(owners)

    def set_shard(self, shard: str, *uuids: str) -> None:
        """Move nodes in one transaction: no service sees a part."""
        with self.server.sql() as database:
            for uuid in uuids:
                database.execute(
                    'UPDATE nodes SET shard = ? WHERE uuid = ?', (shard, uuid)
                )

    def test_node_that_changes_shard_stays_and_is_reported(self) -> None:
        deployed, free, other = self.enrol('s1')
        one = self.start_exclusive('host1', 's1')
        two = self.start_exclusive('host2', 's2')
        owners = given({'host1': [deployed, free, other]})
        self.deployment.wait_for_owners(owners)
        self.set_shard('s2', deployed, free)
        self.wait_for_line(one, '2 nodes owned here, but out of scope')
        self.wait_for_line(two, 'on record with host1: 2 nodes that host2')
        self.deployment.wait_until(
            lambda: (
                {
                    node.shard
                    for node in self.deployment.records.compute_nodes()
                    if node.uuid != other
                }
                == {'s2'}
            ),
            'records of the new shard',
        )
        self.assertEqual(owners, self.deployment.owners())
        self.set_shard('s1', deployed, free)
        self.wait_for_line(one, 'no more nodes owned here, but out of scope')
        self.wait_for_line(two, 'no more nodes withheld by host1')
        self.assertEqual(owners, self.deployment.owners())
        self.assertEqual(1, len(one.lines('but out of scope, for example')))

    def test_node_that_changes_group_is_released_and_claimed(self) -> None:
        for name, group in (
            ('host1', 'g1'),
            ('host2', 'g1'),
            ('host3', 'g2'),
            ('host4', 'g2'),
        ):
            self.deployment.start(
                name, SHARING, ironic={'conductor_group': group}
            )
        self.deployment.wait_for_members('host1', 'host2', 'host3', 'host4')
        deployed, free, *_ = uuids = self.enrol('s1', 'g1')
        self.enrol('s1', 'g3')
        self.deployment.wait_until(
            lambda: (
                self.deployment.owners().keys() == set(uuids)
                and set(self.deployment.owners().values())
                <= {'host1', 'host2'}
            ),
            'owners of g1',
        )
        before = self.deployment.owners()
        for uuid in (deployed, free):
            self.enrolment.set_conductor_group(uuid, 'g2')
        self.deployment.wait_until(
            lambda: self.deployment.owners()[free] in ('host3', 'host4'),
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
            [
                (None, before[free]),
                (before[free], None),
                (None, after[free]),
            ],
            changes,
        )
