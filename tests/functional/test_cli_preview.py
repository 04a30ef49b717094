"""``ring show``, ``ring preview`` and ``policy compare``, touching nothing."""

from __future__ import annotations

import sqlite3

from ironic_ownership.contracts import model
from ironic_ownership.policies.ring import Ring
from tests.functional.support import command_line, ironics

NODES = 30
FLOW = ['from_service', 'to_service', 'nodes', 'instances', 'share']
WHOLE = [
    *('nodes', 'moves', 'share', 'instances', 'stranded', 'unserved'),
    'flows',
]
NODE = [
    *('uuid', 'name', 'change', 'from_service', 'to_service'),
    *('instance', 'shard', 'conductor_group'),
]


def ring(*peers: str) -> model.MemberSettings:
    settings = model.PolicySettings.of
    return model.MemberSettings(
        (
            settings('conductor_group', {'conductor_group': 'g1'}),
            settings('peer_list', {'peer_list': tuple(sorted(peers))}),
        )
    )


class PreviewCase(ironics.IronicTestCase):
    """A ring of two at rest, with a written list; one service on a shard.

    The first third of the ring's nodes has an instance.
    """

    peers: tuple[str, ...] = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(self.server.endpoint)
        self.addCleanup(self.lab.close)
        self.epochs = {
            host: self.lab.serve(host, ring(*self.peers))
            for host in ('host1', 'host2')
        }
        shard = self.lab.serve('rack1', command_line.shard('rack1'))
        self.enrolment.enrol(
            NODES,
            prefix='ring',
            conductor_group='g1',
            instance_share=1 / 3,
            same_every_time=True,
        )
        self.enrolment.enrol(3, prefix='rack', shard='rack1')
        bare_metal = ironics.open_ironic(self.server.endpoint)
        self.ring = bare_metal.scan(model.Scope(conductor_group='g1'))
        self.rack = bare_metal.scan(model.Scope(shard='rack1'))
        self.owner = self.owners('host1', 'host2')
        for host, epoch in self.epochs.items():
            self.lab.claim(
                host,
                epoch,
                *(n for n in self.ring if self.owner[n.uuid] == host),
            )
        self.lab.claim('rack1', shard, *self.rack)
        self.before = self.database()
        self.addCleanup(self.assert_untouched)

    def owners(self, *hosts: str) -> dict[str, str]:
        uuids = [node.uuid for node in self.ring]
        owners = Ring(hosts).owners(uuids)
        return dict(zip(uuids, owners, strict=True))

    def database(self) -> list[str]:
        path = self.lab.directory / 'ironic-ownership.db'
        with sqlite3.connect(f'file:{path}?mode=ro', uri=True) as database:
            return list(database.iterdump())

    def assert_untouched(self) -> None:
        self.assertEqual(self.before, self.database())

    def preview(self, *words: str, **where) -> dict:
        return self.lab.json('ring', 'preview', *words, **where)

    def compare(self, *words: str) -> dict:
        return self.lab.json('policy', 'compare', *words)

    def moved(self, said: dict) -> dict[str, tuple[str, str]]:
        return {
            c['uuid']: (c['from_service'], c['to_service'])
            for c in said['changes']
            if c['change'] == 'moves'
        }

    def assert_refused(self, code: int, words: tuple[str, ...], *said: str):
        done = self.lab.run(*words)
        self.assertEqual((code, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertNotIn('unexpected', done.stderr)
        for word in said:
            self.assertIn(word, done.stderr)


class RingTest(PreviewCase):
    def test_rings_are_shown_with_their_shares(self) -> None:
        rows = self.lab.json('ring', 'show', '--long')
        self.assertEqual(
            [(1, 'host1'), (1, 'host2'), (2, 'rack1')],
            [(row['ring'], row['host']) for row in rows],
        )
        first = rows[0]
        mine = list(self.owner.values()).count('host1')
        self.assertEqual('peer_list', first['assigner'])
        self.assertEqual(mine, first['nodes'])
        self.assertAlmostEqual(mine / NODES, first['share'], 3)
        self.assertAlmostEqual(2 * mine / NODES, first['of_mean'], 3)
        self.assertEqual(['host1', 'host2'], first['peers'])
        self.assertIsNone(rows[2]['assigner'])
        done = self.lab.run('ring', 'show')
        self.assertEqual(0, done.returncode, done)
        self.assertIn('| Of Mean |', done.stdout)

    def test_lost_member_leaves_free_nodes_to_the_ring(self) -> None:
        said = self.preview('--without', 'HOST2', '--nodes')
        self.assertEqual([*WHOLE, 'changes'], list(said))
        lost = [n for n in self.ring if self.owner[n.uuid] == 'host2']
        free = [n.uuid for n in lost if n.instance_uuid is None]
        self.assertTrue(free)
        self.assertEqual(
            dict.fromkeys(free, ('host2', 'host1')), self.moved(said)
        )
        self.assertEqual(
            (NODES + 3, len(free), len(lost) - len(free), 0),
            tuple(
                said[key] for key in ('nodes', 'moves', 'stranded', 'unserved')
            ),
        )
        self.assertEqual(round(len(free) / (NODES + 3), 4), said['share'])
        for change in said['changes']:
            self.assertEqual(NODE, list(change))
        (flow,) = said['flows']
        self.assertEqual(FLOW, list(flow))
        self.assertEqual(
            ['host2', 'host1', len(free), 0], list(flow.values())[:4]
        )

    def test_several_rings_need_a_model(self) -> None:
        settings = command_line.group('g2')
        peers = model.PolicySettings.of('peer_list', {'peer_list': ()})
        self.lab.serve(
            'far', model.MemberSettings((*settings.policies, peers))
        )
        self.before = self.database()
        self.assert_refused(
            1,
            ('ring', 'preview', '--with', 'host3'),
            '2 rings',
            'far',
            'host1',
        )
        said = self.preview('--with', 'host3', '--like', 'far')
        self.assertEqual(0, said['moves'])

    def test_with_a_shard_key_omitted_nodes_are_reported(self) -> None:
        config = self.lab.configure(
            'sharded', policies='shard_key', ironic='shard_key = rack1'
        )
        done = self.lab.run(
            'ring', 'preview', '--without', 'rack1', config=config
        )
        self.assertEqual(4, done.returncode, done)
        self.assertIn('30 nodes without a shard are left out', done.stderr)


class CompareTest(PreviewCase):
    def test_ring_against_shards(self) -> None:
        said = self.compare(
            'peer_list',
            'conductor_group,peer_list',
            *('--option', 'peer_list='),
            *('--option', 'conductor_group=g2'),
            *('--option', 'host1:conductor_group=g1'),
            '--nodes',
        )
        # All of the group goes to host1; the others have no group g2.
        everyone = [node.uuid for node in (*self.ring, *self.rack)]
        owners = Ring(('host1', 'host2', 'rack1')).owners(everyone)
        now = dict(zip(everyone, owners, strict=True))
        expected = {
            uuid: (owner, 'host1' if uuid in self.owner else None)
            for uuid, owner in now.items()
            if owner != 'host1' or uuid not in self.owner
        }
        self.assertEqual(expected, self.moved(said))
        deployed = {n.uuid for n in self.ring if n.instance_uuid}
        self.assertEqual(len(deployed & expected.keys()), said['instances'])
