"""``shard plan`` in this process and over HTTP: the same plan and result."""

from __future__ import annotations

import collections
from typing import Any
from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.cli import move, shard
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.changes import moves as move_nodes
from tests.unit.cli import test_move
from tests.unit.engine import world


class PlanShardTest(test_move.ConfirmedCase):
    """``west`` owns nodes 11 to 18 in shard w; ``east`` has shard e."""

    def setUp(self) -> None:
        super().setUp()
        nodes = [
            world.node(number, name=f'node{number}', shard='w')
            for number in range(11, 19)
        ]
        self.ironic.put(*nodes)
        for host in ('west', 'east'):
            settings = world.runs(shard_key=host[0])
            memory.MemoryBackend(
                {},
                member_ttl=3600,
                call_timeout=5,
                store=self.backend._store,
            ).join(host, host, settings)
            epoch = self.records.register(host, settings, incarnation=host)
            if host == 'west':
                self.claim(host, epoch, *nodes)

    def plan(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        return self.run_command(shard.PlanShard, *words)

    def shards(self) -> dict[str | None, int]:
        return collections.Counter(n.shard for n in self.ironic.nodes.values())

    def test_plan_shows_nodes_before_and_after_and_changes_nothing(
        self,
    ) -> None:
        shown = []
        for self.remote in (False, True):
            code, rows = self.plan()
            self.assertEqual(0, code, self.stderr.getvalue())
            shown.append((rows, self.stderr.getvalue()))
        self.assertEqual(shown[0], shown[1])
        rows, reported = shown[0]
        self.assertEqual(
            {('w', 'e', 'west', 'east', 'planned')},
            {
                (
                    *(row['shard_before'], row['shard_after']),
                    *(row['source'], row['destination'], row['state']),
                )
                for row in rows
            },
        )
        self.assertEqual(4, len(rows))
        for line in (
            'w: 8 -> 4 nodes, weight 1, west',
            'e: 0 -> 4 nodes, weight 1, east',
            '6 nodes stay as they are: owned by a service without a shard',
            '4 moves; at least 4 are needed for these shares',
        ):
            self.assertIn(line, reported)
        self.assertEqual({'a': 3, 'b': 3, 'w': 8}, self.shards())
        self.confirm.assert_not_called()

    def test_it_is_applied_by_each_caller(self) -> None:
        for self.remote, weight in ((False, 'west=0'), (True, 'EAST=0')):
            code, rows = self.plan('--weight', weight, '--apply', '--yes')
            self.assertEqual(0, code, self.stderr.getvalue())
            self.assertEqual(8, len(rows))
            self.assertEqual({'moved'}, {row['state'] for row in rows})
            empty = weight.partition('=')[0].lower()
            self.assertEqual(0, self.shards()[empty[0]])
            self.assertNotIn(empty, self.owners().values())
        code, rows = self.plan('--weight', 'east=0', '--apply', '--yes')
        self.assertEqual((0, []), (code, rows))

    def test_trial_goes_first_and_back_by_each_caller(self) -> None:
        self.hurry_trials()
        for self.remote in (False, True):
            # "east" does not report that it has refreshed.
            code, rows = self.plan('--apply', '--trial', '2', '--yes')
            self.assertEqual(3, code, self.stderr.getvalue())
            parts = [row['trial'] for row in rows]
            self.assertEqual((2, 4), (parts.count('back'), len(parts)))
            self.assertIn('2 nodes went back', self.stderr.getvalue())
            self.assertEqual({'a': 3, 'b': 3, 'w': 8}, +self.shards())
        self.report_refresh('east', 'east')
        code, rows = self.plan('--trial', '2')
        self.assertEqual(2, [row['trial'] for row in rows].count('first'))
        code, rows = self.plan('--apply', '--trial', '2', '--yes')
        self.assertEqual(0, code, self.stderr.getvalue())
        self.assertIn('trial of 2 nodes has passed', self.stderr.getvalue())
        self.assertEqual({'a': 3, 'b': 3, 'w': 4, 'e': 4}, self.shards())

    def test_question_names_the_shards(self) -> None:
        with mock.patch('sys.stdin.isatty', return_value=True):
            self.plan('--weight', 'east=3', '--max-moves', '2', '--apply')
        self.assertEqual(
            'Set shards in Ironic, and move the nodes: 2 to e',
            self.confirm.call_args.args[1],
        )
        self.assertEqual(2, self.shards()['e'])

    def test_failure_is_resumed_by_the_move(self) -> None:
        set_shard, asked = self.ironic.set_shard, []

        def failing(uuid: str, name: str) -> str | None:
            asked.append(uuid)
            if len(asked) > 3:
                raise exceptions.IronicUnavailableError('gone')
            return set_shard(uuid, name)

        with (
            mock.patch.object(move_nodes, 'BATCH', 2),
            mock.patch.object(self.ironic, 'set_shard', failing),
            self.assertRaises(exceptions.OwnershipError) as caught,
        ):
            self.plan('--apply', '--yes')
        self.assertIn('move resume', str(caught.exception.hint))
        self.assertEqual(
            2, collections.Counter(self.owners().values())['east']
        )
        (stored,) = self.wired.moves.moves(unfinished=True)
        code, rows = self.run_command(
            move.ResumeMove, stored.request_id, '--yes'
        )
        self.assertEqual((0, 2), (code, len(rows)), self.stderr.getvalue())
        self.assertEqual({'a': 3, 'b': 3, 'w': 4, 'e': 4}, self.shards())
        self.assertEqual([], self.plan()[1])

    def test_gates_refuse_before_anything_is_set(self) -> None:
        self.records.set_service('east', actor='test', disabled=True)
        code, rows = self.plan('--weight', 'east=1', '--apply', '--yes')
        self.assertEqual((3, 4), (code, len(rows)))
        self.assertIn('destination_enabled: 4 of 4', self.stderr.getvalue())
        self.assertEqual(8, self.shards()['w'])
