"""``compute node explain`` with a real Ironic, from any machine."""

from __future__ import annotations

from ironic_ownership.contracts import model
from tests.functional.support import command_line, ironics

KEYS = [
    *('uuid', 'name', 'state', 'inputs', 'members', 'assigner', 'peers'),
    *('live_peers', 'policies_want', 'decided_owner', 'reason', 'rule'),
    *('contest', 'contenders', 'filtered', 'unavailable', 'record'),
    *('ironic', 'advice'),
]
MEMBER_KEYS = [
    *('host', 'considered', 'why', 'alive', 'disabled', 'forced_down'),
    *('readable', 'admits', 'policies'),
]


def ring(*peers: str) -> model.MemberSettings:
    settings = model.PolicySettings.of
    return model.MemberSettings(
        (
            settings('conductor_group', {'conductor_group': 'g1'}),
            settings('peer_list', {'peer_list': tuple(sorted(peers))}),
        )
    )


class ExplainTest(ironics.IronicTestCase):
    """A ring of two in a conductor group, and services on shards."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        epoch = self.lab.serve('host1', ring('host1', 'host2'))
        self.lab.serve('host2', ring('host1', 'host2'))
        shard = self.lab.serve('rack1', command_line.shard('rack1'))
        dead = self.lab.serve(
            'rack2', command_line.shard('rack2'), alive=False
        )
        self.lab.serve(
            'stranger', model.MemberSettings((model.PolicySettings('nosuch'),))
        )
        self.lab.serve(
            'newer', model.MemberSettings(command_line.ALL.policies, 99)
        )
        self.bare_metal = ironics.open_ironic(self.server.endpoint)
        self.nodes = {
            'deployed': self._node(
                'deployed', conductor_group='g1', instance_share=1.0
            ),
            'owned': self._node('owned', shard='rack1'),
            'orphan': self._node('orphan', shard='rack1'),
            'left': self._node('left', shard='rack2', instance_share=1.0),
            'case': self._node('case', shard='Rack1'),
        }
        self._claim('host1', epoch, 'deployed')
        self._claim('rack1', shard, 'owned', 'orphan')
        self._claim('rack2', dead, 'left')
        self.enrolment.delete(self.nodes['orphan'])

    def _node(self, prefix: str, **where) -> str:
        (uuid,) = self.enrolment.enrol(
            1, prefix=prefix, same_every_time=True, **where
        )
        return uuid

    def _claim(self, host: str, epoch: int, *names: str) -> None:
        found = [self.bare_metal.get(self.nodes[name]) for name in names]
        self.lab.claim(host, epoch, *filter(None, found))

    def explain(self, name: str, *words: str, config=None) -> dict:
        return self.lab.json(
            *('compute', 'node', 'explain', self.nodes[name], *words),
            config=config,
        )

    def advice(self, said: dict) -> str:
        return '\n'.join(said['advice'])

    def test_chain_is_complete(self) -> None:
        said = self.explain('deployed')
        self.assertEqual(KEYS, list(said))
        self.assertEqual('peer_list', said['assigner'])
        self.assertEqual(['host1', 'host2'], said['peers'])
        self.assertEqual('g1', said['inputs']['conductor_group'])
        self.assertTrue(said['inputs']['instance_uuid'])
        self.assertEqual('host1', said['record']['service'])
        self.assertEqual(
            self.lab.records.services()[0].epoch,
            said['record']['service_epoch'],
        )
        self.assertIs(True, said['record']['service_alive'])
        self.assertEqual('active', said['ironic']['provision_state'])
        members = {m['host']: m for m in said['members']}
        self.assertEqual(
            ['host1', 'host2', 'newer', 'rack1', 'rack2', 'stranger'],
            list(members),
        )
        self.assertEqual(
            ['host1', 'host2'],
            [host for host, m in members.items() if m['considered']],
        )
        for member in members.values():
            self.assertEqual(MEMBER_KEYS, list(member))
        self.assertIn('is not alive', members['rack2']['why'])
        self.assertIn("'nosuch'", members['stranger']['why'])
        self.assertIn('contract version 99', members['newer']['why'])
        group, assigner = members['host1']['policies']
        self.assertEqual({'conductor_group': 'g1'}, group['options'])
        self.assertIs(True, group['admits'])
        self.assertIn('assigns', assigner['says'])

    def test_answer_is_the_same_from_any_machine(self) -> None:
        elsewhere = [
            self.lab.configure(
                'sharded',
                host='rack1',
                policies='shard_key',
                ironic='shard_key = rack1',
            ),
            self.lab.configure(
                'ring',
                host='host2',
                policies='peer_list',
                ironic='peer_list = host2,host3',
            ),
        ]
        for name in self.nodes:
            here = self.explain(name)
            for config in elsewhere:
                self.assertEqual(here, self.explain(name, config=config))
        self.assertEqual([], self.proxy.lists)
