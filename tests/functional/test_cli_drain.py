"""``service drain`` with a real Ironic: moved and refused nodes."""

from __future__ import annotations

import json
from typing import Any

from ironic_ownership.contracts import model
from tests.functional.support import command_line, ironics


class DrainTest(ironics.IronicTestCase):
    """``old`` is dead and disabled, with two nodes in each of two shards."""

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment(self.server.endpoint)
        self.addCleanup(self.lab.close)
        self.in_a = self.enrolment.enrol(2, shard='a', instance_share=0.5)
        self.in_b = self.enrolment.enrol(2, shard='b')
        self.epoch = self.lab.serve('old', command_line.ALL, alive=False)
        bare_metal = ironics.open_ironic(self.server.endpoint)
        self.nodes = bare_metal.scan(model.Scope())
        self.lab.claim('old', self.epoch, *self.nodes)
        self.lab.records.set_service('old', actor='test', disabled=True)

    def drain(self, code: int, *words: str) -> list[dict[str, Any]]:
        done = self.lab.run('service', 'drain', *words, '-f', 'json')
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        self.said = done.stderr
        return json.loads(done.stdout) if done.stdout else []

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.lab.records.compute_nodes()}

    def everything(self) -> tuple[object, ...]:
        records = self.lab.records
        return records.services(), self.owners(), records.events()

    def test_each_node_goes_to_a_service_of_its_shard(self) -> None:
        self.lab.serve('in-a', command_line.shard('a'))
        self.lab.serve('in-b', command_line.shard('b'))
        rows = self.drain(0, 'OLD', '--yes')
        self.assertEqual(
            {
                **dict.fromkeys(self.in_a, 'in-a'),
                **dict.fromkeys(self.in_b, 'in-b'),
            },
            self.owners(),
        )
        self.assertEqual({'moved'}, {row['state'] for row in rows})
        # One move for each service that takes nodes.
        self.assertEqual(2, len({row['request_id'] for row in rows}))
        moves = self.lab.json('move', 'list')
        self.assertEqual({'drain of old'}, {move['reason'] for move in moves})
        before = self.everything()
        self.assertEqual([], self.drain(0, 'old', '--yes'))
        self.assertEqual(before, self.everything())

    def test_nothing_moves_if_a_node_has_no_destination(self) -> None:
        self.lab.serve('in-a', command_line.shard('a'))
        before = self.everything()
        rows = self.drain(3, 'old', '--yes')
        self.assertEqual(sorted(self.in_b), sorted(r['uuid'] for r in rows))
        for row in rows:
            self.assertEqual('refused', row['state'])
            self.assertEqual('destination_admits', row['gates'][0]['gate'])
        self.assertIn('2 compute nodes of old cannot be moved', self.said)
        self.assertEqual(before, self.everything())
