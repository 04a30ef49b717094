"""``compute node explain`` with a real Ironic, from any machine."""

from __future__ import annotations

import json
import uuid as uuid_

import yaml

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
        self.inventory = ironics.open_inventory(self.server.endpoint)
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
        found = [self.inventory.get(self.nodes[name]) for name in names]
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

    def test_decision_is_that_of_compute_node_show(self) -> None:
        for name in self.nodes:
            shown = self.lab.json('compute', 'node', 'show', self.nodes[name])
            said = self.explain(name)
            for key in ('uuid', 'name', 'state', 'reason', 'decided_owner'):
                self.assertEqual(shown[key], said[key], (name, key))

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

    def test_advice_names_commands(self) -> None:
        left = self.explain('left')
        self.assertEqual('rack2', left['decided_owner'])
        self.assertIn('rack2 is not alive', self.advice(left))
        self.assertIn(
            f'compute node move {self.nodes["left"]} --service',
            self.advice(left),
        )
        case = self.explain('case')
        self.assertEqual('not_admitted', case['reason'])
        self.assertIn(
            f'baremetal node set {self.nodes["case"]} --shard rack1',
            self.advice(case),
        )
        why = {m['host']: m['why'] for m in case['members']}
        self.assertIn('only the case differs', why['rack1'])
        self.assertEqual(['Nothing to do'], self.explain('owned')['advice'])

    def test_orphan_has_no_node_in_ironic(self) -> None:
        said = self.explain('orphan')
        self.assertEqual('node_gone', said['reason'])
        self.assertIsNone(said['ironic'])
        self.assertIsNone(said['policies_want'])
        self.assertEqual('rack1', said['record']['service'])

    def test_name_is_as_good_as_a_uuid(self) -> None:
        said = self.explain('owned')
        self.assertEqual(
            said, self.lab.json('compute', 'node', 'explain', said['name'])
        )

    def test_unknown_nodes_name_the_nearest(self) -> None:
        known = self.nodes['owned']
        near = known[:-1] + ('0' if known[-1] != '0' else '1')
        name = self.explain('owned')['name'][:-1]
        for asked, words in (
            (near, [near, known]),
            (str(uuid_.uuid4()), ['is not known']),
            (name, [f'{name!r}', 'Did you mean owned-']),
        ):
            done = self.lab.run('compute', 'node', 'explain', asked)
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)

    def test_table_and_yaml_say_the_same(self) -> None:
        words = ('compute', 'node', 'explain', self.nodes['deployed'])
        done = self.lab.run(*words)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        for line in (
            'host1: admits the node',
            '- peer_list (peer_list=[host1, host2]): assigns among its peers',
            'service_epoch: ',
            '* Nothing',
        ):
            self.assertIn(line, done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 100)
        made = self.lab.run(*words, '-f', 'yaml').stdout
        self.assertEqual(self.explain('deployed'), yaml.safe_load(made))

    def test_outages_are_one_line_and_exit_1(self) -> None:
        config = self.lab.configure(
            'split',
            more='[backend_db]\nconnection = '
            'mysql+pymysql://u:p@127.0.0.1:1/x',
        )
        words = ('compute', 'node', 'explain', self.nodes['owned'])
        for done in (
            self.lab.run(*words, config=config),
            self.lab.run(*words, config=self._no_ironic()),
        ):
            self.assertEqual((1, ''), (done.returncode, done.stdout), done)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
            self.assertNotIn('unexpected', done.stderr)

    def _no_ironic(self):
        self.lab.ironic = 'http://127.0.0.1:1'
        return self.lab.configure('nowhere')


class CostTest(ironics.IronicTestCase):
    """Requests to a real Ironic over many nodes, and over more."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        self.epoch = self.lab.serve('host1', command_line.ALL)
        self.inventory = ironics.open_inventory(self.server.endpoint)

    def asked(self, *words: str) -> int:
        self.proxy.requests.clear()
        done = self.lab.run(*words, '-f', 'json')
        self.assertIn(done.returncode, (0, 4), done.stderr)
        json.loads(done.stdout)
        return len(self.proxy.requests)

    def grow(self, count: int) -> str:
        uuids = self.enrolment.enrol(count)
        scanned = self.inventory.scan(model.Scope())
        new = set(uuids)
        self.lab.claim(
            'host1', self.epoch, *(n for n in scanned if n.uuid in new)
        )
        return uuids[0]

    def test_requests_are_pages_and_a_constant(self) -> None:
        uuid = self.grow(1000)
        explained = self.asked('compute', 'node', 'explain', uuid)
        checked = self.asked('check')
        self.grow(9000)
        self.assertEqual(
            explained, self.asked('compute', 'node', 'explain', uuid)
        )
        # One page more for each thousand nodes more.
        self.assertEqual(checked + 9, self.asked('check'))
        self.assertLess(checked, 5)

    def test_many_orphans_cost_no_more_than_a_few(self) -> None:
        self.grow(300)
        self.enrolment.clear()
        self.assertLess(self.asked('check'), 20 + 5)
