"""With a shard key set nothing ever lists nodes without a shard filter.

Everything that every host asks Ironic for, through crashes and changes.
"""

from __future__ import annotations

import re

from tests.functional.support import hosts, ironics, reload_case

LIST, CHANGES, COUNT = '/v1/nodes', '/v1/nodes/detail', '/v1/shards'
LOOK_UP = re.compile('/v1/nodes/[0-9a-f-]{36}')
NO_NODES = ('/', '/v1', '/v1/', '/v1/conductors')


class TestShards(reload_case.ReloadsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.owned: dict[str, str] = {}

    def start(self, name: str, policies: str, **ironic: object):
        return self.deployment.start(
            name,
            policies,
            ironic={
                'endpoint_override': self.proxy.url,
                'page_size': 2,
                **ironic,
            },
        )

    def enrol(self, owner: str, count: int, **where: object) -> list[str]:
        """Enrol nodes that a service will own."""
        uuids = self.enrolment.enrol(count, **where)
        self.owned |= dict.fromkeys(uuids, owner)
        return uuids

    def test_no_request_lists_nodes_without_a_shard(self) -> None:
        self.enrolment.enrol(3)  # of no shard: no service may ever list them
        self.enrolment.enrol(2, shard='s2', conductor_group='g2')
        deployed, _, free, gone, _ = self.enrol(
            'host1', 5, shard='s1', instance_share=0.4
        )
        self.enrol('host2', 3, shard='s2', conductor_group='g1')
        self.enrol('host3', 3, shard='s3')
        one = self.start('host1', 'shard_key', shard_key='s1')
        both = ('host2', 'conductor_group,shard_key')
        two = self.start(*both, shard_key='s2', conductor_group='G1')
        # Nova's name for the option, and peers that a shard leaves alone.
        three = self.start('host3', 'peer_list,shard_key', shard='s3')
        self.start('host4', 'peer_list,shard_key', shard_key='s4')
        self.deployment.wait_for_owners(self.owned)
        # A crash, and its standby.
        one.kill()
        one = self.start('host1', 'shard_key', shard_key='s1')
        self.wait_for_lines(one, 'registered')
        # A free and a deployed node change their shard; a node goes.
        for uuid in (deployed, free):
            self.enrolment.set_shard(uuid, 's3')
        self.enrolment.delete(gone)
        del self.owned[gone]
        self.deployment.wait_for_owners(self.owned)
        self.wait_for_lines(one, '2 nodes owned here, but out of scope')
        self.wait_for_lines(three, 'that host3 should own')
        # A restart, and a change while at work.
        self.assertEqual(0, two.terminate())
        two = self.start(*both, shard_key='s2', conductor_group='g1')
        self.wait_for_lines(two, 'registered')
        self.reload_and_wait(two, ironic={'shard_key': 's5'})
        self.enrol('host2', 2, shard='s5', conductor_group='g1')
        self.deployment.wait_for_owners(self.owned)
        self.deployment.stop()
        self.assert_every_list_has_its_shard()

    def assert_every_list_has_its_shard(self) -> None:
        seen = dict.fromkeys(('list', 'changes', 'look-up', 'count'), 0)
        for path, query, _ in self.proxy.requests:
            names = [name for name, _ in query]
            if path in (LIST, CHANGES):
                is_whole = 'sort_dir' not in names
                seen['list' if is_whole else 'changes'] += 1
                # More than once, where the server is not exact otherwise.
                shards = {value for name, value in query if name == 'shard'}
                self.assertEqual(1, len(shards), query)
                (shard,) = shards
                self.assertIn(shard, {'s1', 's2', 's3', 's4', 's5'})
                if is_whole and shard in ('s2', 's5'):
                    self.assertEqual('g1', dict(query)['conductor_group'])
            elif LOOK_UP.fullmatch(path):
                seen['look-up'] += 1
                self.assertEqual(['fields'], names)
            elif path == COUNT:
                seen['count'] += 1
            else:
                self.assertIn(path, NO_NODES)
        # All of it was really asked for.
        self.assertGreater(seen['list'], 10)
        self.assertGreater(seen['changes'], 10)
        self.assertGreater(seen['look-up'], 2)
        self.assertGreater(seen['count'], 0)

    def test_ironic_that_is_too_old_is_refused_and_never_listed(
        self,
    ) -> None:
        proxy = reload_case.AgeingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        proxy.newest = '1.81'
        for option, value in (('shard_key', 's1'), ('conductor_group', '')):
            host = self.deployment.start(
                'host1',
                option,
                ironic={option: value, 'endpoint_override': proxy.url},
            )
            self.assertEqual(1, host.process.wait(hosts.TIMEOUT))
            self.assertIn('1.82', host.output())
            self.assertIn('1.81', host.output())
        self.assertEqual([], proxy.lists)
