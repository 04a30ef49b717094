"""Laws of planned hand-overs: a live service gives free nodes to another."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import moves
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites import records
from tests.contract.suites.moves import MoveCase

MOVED, REFUSED = moves.NodeState.MOVED, moves.NodeState.REFUSED


class HandOverContract(MoveCase):
    """The source of the nodes is alive, and stays so."""

    def hand_over(
        self, request_id: str = 'req-1', longest: float = 60.0
    ) -> moves.HandOver:
        """Return a request that releases nodes."""
        return moves.HandOver(request_id, 'operator', longest, 'because')

    def assert_not_released(self, node: moves.NodeMove, code: str) -> None:
        """Try to release a node that has to stay, for a reason."""
        before = self.state()
        refused = self.moves.release([node], self.hand_over('req-other'))
        self.assertEqual([node.uuid], list(refused))
        self.assertTrue(refused[node.uuid].startswith(f'{code}: '), refused)
        self.assertEqual(before, self.state())

    def released_for_a_move(self) -> tuple[str, moves.NodeMove]:
        """Plan a move of a free node and release it."""
        self.set_service('host1', disabled=False)
        node = self.seen(3)
        request_id = self.planned(node)
        self.moves.release([node], self.hand_over(request_id))
        self.assert_refused('host1', self.epoch, records.claim(3))
        return request_id, node

    def assert_given_back(self) -> None:
        """Check that the source may claim the released node again."""
        self.assertIsNone(self.owner(3))
        self.assert_applied('host1', self.epoch, records.claim(3))

    def test_released_node_is_held_from_every_service(self) -> None:
        self.assertEqual(
            {}, self.moves.release([self.seen(3)], self.hand_over())
        )
        found = self.find(3)
        assert found is not None
        self.assertEqual(
            (None, 'host1', 'released'),
            (found.host, found.released_by, found.reason.value),
        )
        self.assertFalse(self.service('host1').fenced)
        self.assertEqual(self.epoch, self.service('host1').epoch)
        for host in ('host1', 'host2'):
            epoch = self.service(host).epoch
            self.assert_refused(host, epoch, records.claim(3))
        self.assert_last_event(3, 'node_handed_over', 'host1', None, 'req-1')

    def test_release_ends_for_its_request_only(self) -> None:
        node = self.seen(3)
        self.moves.release([node], self.hand_over())
        epoch = self.service('host2').epoch
        self.moves.end_release('req-other', [node.uuid])
        self.assert_refused('host2', epoch, records.claim(3))
        self.moves.end_release('req-1', [node.uuid])
        self.assert_applied('host2', epoch, records.claim(3))
        # It is as any other afterwards, also when it becomes unowned again.
        self.assert_applied('host2', epoch, Release(node.uuid))
        self.assert_applied('host2', epoch, records.claim(3))

    def test_release_that_no_process_ends(self) -> None:
        self.moves.release([self.seen(3)], self.hand_over(longest=0.0))
        epoch = self.service('host1').epoch
        self.assert_applied('host1', epoch, records.claim(3))

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
        epoch = self.service('host2').epoch
        self.assertEqual({}, self.moves.against_owner('host2', uuids))
        causes = dict.fromkeys(uuids, 'trial failed: x')
        self.assertTrue(self.moves.fail_trial(request_id, causes))
        # Too late, as is another attempt to move them.
        self.assertFalse(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.fail_trial(request_id, causes))
        self.moves.carry_out(request_id, nodes[:3])
        stored = self.moves.nodes(request_id, state=moves.NodeState.PLANNED)
        self.assertEqual(
            [moves.Trial.BACK] * 3 + [None], [node.trial for node in stored]
        )
        seen = [dataclasses.replace(n, source='host2') for n in stored[:3]]
        hand_over = moves.HandOver(request_id, 'operator', 60.0)
        for node in seen[:2]:
            refused = self.moves.release([node], hand_over)[node.uuid]
            self.assertIn('instance_changed', refused)
        (kept,) = self.moves.carry_out(request_id, seen[2:], back_to='host1')
        self.assertEqual(MOVED, kept.state)
        self.assertIn('did not go back: source_stopped', str(kept.detail))
        deployed = dataclasses.replace(hand_over, deployed=True)
        self.assertEqual({}, self.moves.release(seen[:2], deployed))
        for number in (1, 2):
            claim = records.claim(number, instance_uuid=self.instances[number])
            self.assert_refused('host2', epoch, claim)
        done = self.moves.carry_out(request_id, seen[:2], back_to='host1')
        self.assertEqual([REFUSED] * 2, [node.state for node in done])
        self.assertEqual('trial failed: x', done[0].detail)
        self.assertEqual(
            ['host1', 'host1', 'host2', 'host1'],
            [self.owner(number) for number in range(1, 5)],
        )
        self.assertEqual([], list(self.moves.separated()))
        self.assertEqual(epoch, self.service('host2').epoch)
        self.assertFalse(self.service('host2').fenced)

    def test_trial_that_passed_does_not_fail(self) -> None:
        node = self.seen(3, trial=moves.Trial.FIRST)
        request_id = self.planned(node)
        self.moves.carry_out(request_id, [node])
        self.assertEqual(1, self.on_trial(request_id))
        (move,) = self.moves.moves(unfinished=True)
        self.assertEqual(moves.MoveState.UNFINISHED, move.state)
        self.assertTrue(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.pass_trial(request_id))
        self.assertFalse(self.moves.fail_trial(request_id, {node.uuid: 'x'}))
        self.assertEqual(0, self.on_trial(request_id))
        self.assertEqual([], list(self.moves.moves(unfinished=True)))
        (stored,) = self.moves.nodes(request_id)
        self.assertEqual(
            (MOVED, moves.Trial.PASSED), (stored.state, stored.trial)
        )

    def on_trial(self, request_id: str) -> int:
        move = self.moves.find(request_id)
        assert move is not None
        return move.on_trial

    def test_repeated_release_holds_longer_and_adds_no_event(self) -> None:
        node = self.seen(3)
        self.moves.release([node], self.hand_over(longest=0.0))
        events = self.kinds(3)
        self.assertEqual({}, self.moves.release([node], self.hand_over()))
        self.assertEqual(events, self.kinds(3))
        epoch = self.service('host1').epoch
        self.assert_refused('host1', epoch, records.claim(3))

    def test_node_is_not_released(self) -> None:
        self.assert_not_released(self.seen(1), 'instance_changed')
        self.assert_not_released(self.seen(3, source='host2'), 'owner_changed')
        self.assert_not_released(
            moves.NodeMove(records.uuid(9), 'host1'), 'record_exists'
        )
        self.moves.release([self.seen(3)], self.hand_over())
        self.assert_not_released(self.seen(3), 'released')
        self.assert_applied('host1', self.epoch, Delete(records.uuid(4)))
        self.assert_not_released(
            moves.NodeMove(records.uuid(4), None), 'record_exists'
        )

    def test_move_of_a_released_node_stops_no_service(self) -> None:
        request_id, node = self.released_for_a_move()
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(MOVED, result.state, result.detail)
        self.assertEqual('host2', self.owner(3))
        self.assertFalse(self.service('host1').fenced)
        self.assertEqual(self.epoch, self.service('host1').epoch)
        self.assert_applied(
            'host1', self.epoch, Update(records.node(4, name='new'))
        )

    def test_move_of_a_node_that_its_live_source_keeps(self) -> None:
        self.set_service('host1', disabled=False)
        self.assert_refused_node(self.seen(3), 'source_stopped')

    def test_other_moves_leave_a_released_node(self) -> None:
        self.moves.release([self.seen(3)], self.hand_over())
        self.assert_refused_node(self.seen(3), 'released')
        self.moves.end_release('req-1', [records.uuid(3)])
        (result,) = self.move(self.seen(3))
        self.assertEqual(MOVED, result.state)

    def test_released_node_that_is_not_moved_goes_back(self) -> None:
        request_id, node = self.released_for_a_move()
        self.set_service('host2', disabled=True)
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(REFUSED, result.state, result.detail)
        self.assert_given_back()

    def test_released_node_that_is_given_up_goes_back(self) -> None:
        request_id, node = self.released_for_a_move()
        self.moves.refuse('req-other', {node.uuid: 'not of this move'})
        self.assert_refused('host1', self.epoch, records.claim(3))
        self.moves.refuse(request_id, {node.uuid: 'node_exists: gone'})
        self.assert_given_back()

    def test_node_released_after_it_was_given_up_goes_back(self) -> None:
        request_id, node = self.released_for_a_move()
        self.moves.refuse(request_id, {node.uuid: 'node_exists: gone'})
        self.moves.release([node], self.hand_over(request_id))
        (result,) = self.moves.carry_out(request_id, [node])
        self.assertEqual(REFUSED, result.state)
        self.assert_given_back()
