"""Rings of real hosts, input by input; what Nova does is in ``clauses``."""

from __future__ import annotations

from tests.functional import test_failover
from tests.functional.support import hosts, member_expiry, reload_case

BOTH, ALL = ('host1', 'host2'), ('host1', 'host2', 'host3')
CONFIGURED = 'a deprecated policy is configured'
SHARED = 'nodes are shared among'


class TestRings(reload_case.ReloadsTestCase):
    def start(self, *names: str, **ironic: object) -> dict[str, hosts.Host]:
        started = {
            name: self.deployment.start(name, ironic=ironic) for name in names
        }
        self.deployment.wait_for_members(
            *{host.name for host in self.deployment.hosts}
        )
        return started

    def enrol(self) -> tuple[list[str], dict[str, str]]:
        """Add nodes; the first three of twelve are deployed."""
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        return uuids, test_failover.ring_of(uuids, BOTH)

    def operator(self, values: str, host: str) -> None:
        """Change the row of a service as an operator's command does."""
        with self.deployment.database.engine.begin() as conn:
            conn.exec_driver_sql(
                f"UPDATE services SET {values} WHERE host = '{host}'"
            )

    def given_away(
        self, owners: dict[str, str], deployed: list[str], to: str
    ) -> dict[str, str]:
        return dict.fromkeys(owners, to) | {u: owners[u] for u in deployed}

    def test_forced_down_service_that_still_runs_takes_nothing_back(
        self,
    ) -> None:
        running = self.start(*BOTH)
        uuids, owners = self.enrol()
        self.deployment.wait_for_owners(owners)
        self.operator('forced_down = 1', 'host1')
        given = self.given_away(owners, uuids[:3], 'host2')
        self.deployment.wait_for_owners(given)
        self.wait_for_lines(running['host1'], 'is forced down')
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(given, self.deployment.owners())
        self.operator('forced_down = 0', 'host1')
        self.deployment.wait_for_owners(owners)

    def test_peer_list_warns_at_start_and_with_a_peer_once_each(self) -> None:
        one = self.start('host1', peer_list='host1')['host1']
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(1, len(one.lines(CONFIGURED)))
        self.assertEqual([], one.lines(SHARED))
        for host in (
            one,
            *self.start('host2', peer_list='host1,host2').values(),
        ):
            reload_case.reload(host, ironic={'peer_list': 'host1,host2'})
            self.wait_for_lines(host, f'{SHARED} 2 peers')
        self.deployment.wait_for_beats('host1', 4)
        for host in self.deployment.hosts:
            for text in (CONFIGURED, SHARED):
                (line,) = host.lines(text)
                self.assertIn(' WARNING ', line)
                self.assertIn('shard_key', line)

    def test_free_nodes_follow_the_ring_within_a_group_only(self) -> None:
        """Three services, one of another group: not even a candidate."""
        for name, group in zip(ALL, ('rack', 'RACK', ''), strict=True):
            self.deployment.start(
                name,
                'conductor_group,peer_list',
                ironic={'partition_key': group},
            )
        self.deployment.wait_for_members(*ALL)
        rack = self.enrolment.enrol(9, conductor_group='Rack')
        rest = self.enrolment.enrol(3)
        self.enrolment.enrol(2, conductor_group='other')
        owners = test_failover.ring_of(rack, BOTH)
        owners |= dict.fromkeys(rest, 'host3')
        self.deployment.wait_for_owners(owners)
        self.deployment.hosts[0].kill()
        member_expiry.bury(self.deployment, 'host1')
        self.deployment.wait_for_owners(owners | dict.fromkeys(rack, 'host2'))
