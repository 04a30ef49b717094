"""Laws of planned hand-overs: a live service gives free nodes to another."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import moves
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites.moves import MOVED, REFUSED, MoveCase
from tests.contract.suites.records import claim, node, uuid

PLANNED = moves.NodeState.PLANNED


class HandOverContract(MoveCase):
    """The source of the nodes is alive, and stays so."""

    def release(
        self,
        node: moves.NodeMove,
        request_id: str = 'req-1',
        longest: float = 60.0,
    ) -> str:
        """Release a node; return why it stays, if it does."""
        hand_over = moves.HandOver(request_id, 'operator', longest, 'because')
        return self.moves.release([node], hand_over).get(node.uuid, '')

    def assert_not_released(self, node: moves.NodeMove, code: str) -> None:
        """Try to release a node that has to stay, for a reason."""
        before = self.state()
        self.assertRegex(self.release(node, 'req-other'), f'^{code}(: |$)')
        self.assertEqual(before, self.state())

    def released_for_a_move(self) -> tuple[str, moves.NodeMove]:
        """Plan a move of a free node and release it."""
        self.set_service('host1', disabled=False)
        node = self.seen(3)
        request_id = self.planned(node)
        self.assertEqual('', self.release(node, request_id))
        self.refused('host1', claim(3))
        return request_id, node

    def assert_given_back(self) -> None:
        """Check that the source may claim the released node again."""
        self.assertIsNone(self.owner(3))
        self.applied('host1', claim(3))

    def assert_source_runs(self) -> None:
        self.assert_has(self.service('host1'), fenced=False, epoch=self.epoch)

    def test_released_node_is_held_from_every_service(self) -> None:
        seen = self.seen(3)
        self.assertEqual('', self.release(seen, longest=0.0))
        self.assert_has(self.record(3), host=None, released_by='host1')
        self.assertEqual('released', self.record(3).reason.value)
        self.assert_source_runs()
        self.assert_event(
            3,
            kind='node_handed_over',
            actor='operator',
            from_host='host1',
            to_host=None,
            request_id='req-1',
            reason='because',
        )
        # A repeated release holds it longer, and adds no event.
        events = self.kinds(3)
        self.assertEqual('', self.release(seen))
        self.assertEqual(events, self.kinds(3))
        refusing = 'ironic_ownership.db.change_set'
        with self.assertLogs(refusing, 'DEBUG') as logs:
            for host in ('host1', 'host2'):
                self.refused(host, claim(3))
        self.assertIn('req-1 hands it over', logs.output[1])

    def test_release_ends_for_its_request_only(self) -> None:
        self.release(self.seen(3))
        self.moves.end_release('req-other', [uuid(3)])
        self.refused('host2', claim(3))
        self.moves.end_release('req-1', [uuid(3)])
        self.applied('host2', claim(3))
        # It is as any other afterwards, also when it becomes unowned again.
        self.applied('host2', Release(uuid(3)))
        self.applied('host2', claim(3))

    def test_release_that_no_process_ends(self) -> None:
        self.release(self.seen(3), longest=0.0)
        self.applied('host1', claim(3))
        self.assertIsNone(self.record(3).released_by)

    def test_nodes_of_a_failed_trial_go_back(self) -> None:
        """With an instance as well, from a live service to a stopped one."""
        nodes = [
            self.seen(n, trial=moves.Trial.FIRST if n < 4 else None)
            for n in range(1, 5)
        ]
        request_id = self.planned(*nodes)
        uuids = [node.uuid for node in nodes[:3]]
        done = self.moves.carry_out(request_id, nodes[:3])
        self.assertEqual([MOVED] * 3, [node.state for node in done])
        self.assertEqual({}, self.moves.against_owner('host2', uuids))
        causes = dict.fromkeys(uuids, 'trial failed: x')
        self.assertTrue(self.moves.fail_trial(request_id, causes))
        # Too late, as is another attempt to move them.
        self.assertFalse(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.fail_trial(request_id, causes))
        self.moves.carry_out(request_id, nodes[:3])
        stored = self.moves.nodes(request_id, state=PLANNED)
        self.assertEqual(
            [moves.Trial.BACK] * 3 + [None], [node.trial for node in stored]
        )
        seen = [dataclasses.replace(n, source='host2') for n in stored[:3]]
        for one in seen[:2]:
            self.assertIn('instance_changed', self.release(one, request_id))
        (kept,) = self.moves.carry_out(request_id, seen[2:], back_to='host1')
        self.assertEqual(MOVED, kept.state)
        self.assertIn('did not go back: source_stopped', str(kept.detail))
        deployed = moves.HandOver(request_id, 'operator', 60.0, deployed=True)
        self.assertEqual({}, self.moves.release(seen[:2], deployed))
        # Another process resumed the move before its trial failed.
        self.moves.refuse(request_id, dict.fromkeys(uuids, 'destination_x'))
        self.moves.carry_out(request_id, nodes[:2])
        for number, instance in self.instances.items():
            self.refused('host2', claim(number, instance_uuid=instance))
        done = self.moves.carry_out(request_id, seen[:2], back_to='host1')
        self.assertEqual(
            [(REFUSED, 'trial failed: x')] * 2,
            [(node.state, node.detail) for node in done],
        )
        self.assertEqual(
            ['host1', 'host1', 'host2', 'host1'],
            [self.owner(number) for number in range(1, 5)],
        )
        self.assertEqual([], list(self.moves.separated()))
        self.assert_has(
            self.service('host2'), fenced=False, epoch=self.epochs['host2']
        )

    def test_trial_that_passed_does_not_fail(self) -> None:
        node = self.seen(3, trial=moves.Trial.FIRST)
        request_id = self.planned(node)
        self.moves.carry_out(request_id, [node])
        self.assertEqual(1, self.stored_move(request_id).on_trial)
        (move,) = self.moves.moves(unfinished=True)
        self.assertEqual(moves.MoveState.UNFINISHED, move.state)
        self.assertTrue(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.fail_trial(request_id, {node.uuid: 'x'}))
        self.assertEqual(0, self.stored_move(request_id).on_trial)
        self.assertEqual([], self.ids(unfinished=True))
        (stored,) = self.moves.nodes(request_id)
        self.assert_has(stored, state=MOVED, trial=moves.Trial.PASSED)

    def test_node_that_is_not_as_it_was_seen_is_not_released(self) -> None:
        self.applied('host1', Delete(uuid(4)))
        for seen, code in (
            (
                self.seen(1),
                f'instance_changed: its instance is {self.instances[1]}',
            ),
            (self.seen(3, source='host2'), 'owner_changed'),
            (moves.NodeMove(uuid(9), 'host1'), 'record_exists'),
            (moves.NodeMove(uuid(4), None), 'record_exists'),
        ):
            with self.subTest(seen=seen):
                self.assert_not_released(seen, code)
        self.release(self.seen(3))
        self.assert_not_released(self.seen(3), 'released')

    def test_move_of_a_released_node_stops_no_service(self) -> None:
        self.set_service('host1', disabled=False)
        self.assert_refused_node(self.seen(3), 'source_stopped')
        request_id, seen = self.released_for_a_move()
        (result,) = self.moves.carry_out(request_id, [seen])
        self.assertEqual(MOVED, result.state, result.detail)
        self.assertEqual('host2', self.owner(3))
        self.assert_source_runs()
        self.applied('host1', Update(node(4, name='new')))

    def test_other_moves_leave_a_released_node(self) -> None:
        self.release(self.seen(3))
        self.assert_refused_node(self.seen(3), 'released')
        self.moves.end_release('req-1', [uuid(3)])
        self.assertEqual([MOVED], self.move(self.seen(3)))

    def test_released_node_that_is_not_moved_goes_back(self) -> None:
        request_id, node = self.released_for_a_move()
        self.set_service('host2', disabled=True)
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(REFUSED, result.state, result.detail)
        self.assert_given_back()

    def test_released_node_that_is_given_up_goes_back(self) -> None:
        request_id, node = self.released_for_a_move()
        self.moves.refuse('req-other', {node.uuid: 'not of this move'})
        self.refused('host1', claim(3))
        gone = {node.uuid: 'node_exists: gone'}
        self.moves.refuse(request_id, gone)
        self.assert_given_back()
        # Another process that has resumed the move does not release it again.
        self.assertRegex(self.release(node, request_id), '^done: ')
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(REFUSED, result.state)
        self.assertEqual('host1', self.owner(3))
