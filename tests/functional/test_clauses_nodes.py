"""Ownership of nodes: states, groups, and records of other services."""

from __future__ import annotations

from tests.functional.support import member_expiry, reload_case

STATES = (
    {'maintenance': 1},
    {'power_state': 'error'},
    {'power_state': None},
    {'provision_state': 'enroll'},
    {'provision_state': 'manageable'},
    {'provision_state': 'cleaning'},
    {'provision_state': 'clean failed', 'maintenance': 1},
    {'provision_state': 'inspecting'},
    {'provision_state': 'deleting'},
    {'provision_state': 'error'},
    {'provision_state': 'available', 'retired': 1},
    {'provision_state': 'available', 'reservation': 'conductor-1'},
)


class TestNodes(reload_case.ReloadsTestCase):
    def test_node_in_any_state_is_owned(self) -> None:
        uuids = self.enrolment.enrol(len(STATES) + 1)
        with self.server.sql() as database:
            for uuid, state in zip(uuids, STATES, strict=False):
                for column, value in state.items():
                    database.execute(
                        f'UPDATE nodes SET {column} = ? WHERE uuid = ?',
                        (value, uuid),
                    )
        for name in ('host1', 'host2'):
            self.deployment.start(
                name,
                'shard_key' if name == 'host2' else 'conductor_group',
                ironic={'shard_key': 's1'}
                if name == 'host2'
                else {'conductor_group': ''},
            )
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))

    def test_three_services_own_the_nodes_of_their_groups(self) -> None:
        """The empty string is the default group, and case means nothing."""
        owners: dict[str, str] = {}
        for name, group, nodes_of in (
            ('host1', '', ''),
            ('host2', 'RACK-A', 'Rack-A'),
            ('host3', 'rack-b', 'RACK-B'),
        ):
            self.deployment.start(
                name, 'conductor_group', ironic={'conductor_group': group}
            )
            uuids = self.enrolment.enrol(
                3, conductor_group=nodes_of, shard='any', instance_share=0.34
            )
            owners |= dict.fromkeys(uuids, name)
        self.enrolment.enrol(2, conductor_group='rack-c')
        self.deployment.wait_for_owners(owners)

    def test_successor_of_peers_waits_for_the_operator_and_says_so(
        self,
    ) -> None:
        peers = [self.deployment.start(h) for h in ('host1', 'host2')]
        self.deployment.wait_for_members('host1', 'host2')
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        self.deployment.wait_until(
            lambda: self.deployment.owners().keys() == set(uuids), 'owners'
        )
        for peer in peers:  # before one of them takes over from the other
            peer.kill()
        member_expiry.bury(self.deployment, 'host1', 'host2')
        owners = self.deployment.owners()
        self.assertEqual({'host1', 'host2'}, set(owners.values()))
        changes = [e for e in self.deployment.events() if e.node_uuid]
        successor = self.deployment.start('ironic', 'all')
        for peer in ('host1', 'host2'):
            self.wait_for_lines(successor, f'on record with {peer}')
        self.deployment.wait_for_beats('ironic', 4)
        for peer in ('host1', 'host2'):
            (line,) = successor.lines(f'on record with {peer}')
            own = sorted(u for u, host in owners.items() if host == peer)
            self.assertIn(' WARNING ', line)
            self.assertIn(f'{len(own)} node', line)
            self.assertIn('that ironic should own', line)
            self.assertTrue(
                any(
                    f'ironic-ownership compute node move {uuid} '
                    '--service ironic' in line
                    for uuid in own
                ),
                line,
            )
        self.assertEqual(owners, self.deployment.owners())
        self.assertEqual(
            changes, [e for e in self.deployment.events() if e.node_uuid]
        )
        # A node without an owner becomes its own immediately.
        more = self.enrolment.enrol(2)
        self.deployment.wait_for_owners(owners | dict.fromkeys(more, 'ironic'))

    def test_two_services_without_an_assigner_share_nothing(self) -> None:
        """They do not steal from each other, refresh after refresh."""
        first = self.deployment.start('host1', 'all')
        uuids = self.enrolment.enrol(6, instance_share=0.5)
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        second = self.deployment.start('host2', 'all')
        for host in (first, second):
            self.wait_for_lines(host, '6 nodes admitted by several services')
        changes = [e for e in self.deployment.events() if e.node_uuid]
        self.deployment.wait_for_beats('host2', 4)
        self.assertEqual(
            changes, [e for e in self.deployment.events() if e.node_uuid]
        )
        for host in (first, second):
            (line,) = host.lines('admitted by several services')
            self.assertIn('ironic-ownership compute node explain', line)
        # The one that came later may get them by a move, and says how.
        self.assertIn('--service host2', line)
