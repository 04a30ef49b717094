"""The operations move and resume: propose, execute, stop, skip, resume."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from unittest import mock

from ironic_ownership.contracts import (
    exceptions,
    model,
    moves,
    policy,
    refusals,
)
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.moves import Move
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.decision import policy_set
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

MOVED = moves.NodeState.MOVED


class MoveNodesTest(move_case.MoveCase):
    def test_proposal_writes_nothing(self) -> None:
        before = self.everything()
        self.assertEqual(30, len(self.propose().planned))
        self.records.set_service('old', actor='test', disabled=False)
        enabled = self.everything()
        self.assertEqual(30, len(self.propose().refused))
        self.assertEqual(enabled, self.everything())
        self.assertEqual(before[1], self.everything()[1])

    def test_proposal_of_the_rest_writes_nothing(self) -> None:
        plan = self.plan()
        before = self.everything()
        self.assertEqual(30, len(self.plan_rest(plan).planned))
        self.assertEqual(before, self.everything())

    def test_whole_move_with_progress(self) -> None:
        reported = []
        with mock.patch.object(move_nodes, 'BATCH', 7):
            result = self.execute(
                self.propose(), progress=lambda *now: reported.append(now)
            )
        self.assertEqual(30, result.count(MOVED))
        self.assertEqual([], result.planned)
        self.assertEqual(
            [(0, 30), (7, 30), (14, 30), (21, 30), (28, 30), (30, 30)],
            reported,
        )
        self.assertEqual([], result.findings)

    def test_failure_of_the_database_says_how_to_resume(self) -> None:
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            self.assertRaises(refusals.UnfinishedMoveError) as caught,
        ):
            self.execute(self.propose())
        (move,) = self.moves.moves()
        self.assertEqual(broken.code, caught.exception.code)
        self.assertIn(f'resume {move.request_id}', caught.exception.hint)

    def test_move_that_is_lost_meanwhile_cannot_be_resumed(self) -> None:
        lost = exceptions.NotFoundError('there is no move')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=lost),
            self.assertRaises(refusals.LostMoveError) as caught,
        ):
            self.execute(self.propose())
        self.assertIn('compute node move', caught.exception.hint)
        self.assertNotIn('resume REQ', caught.exception.hint)

    def test_unknown_move_hints_at_lost_commits(self) -> None:
        with self.assertRaises(exceptions.NotFoundError) as caught:
            move_nodes.find(self.moves, 'req-x')
        self.assertIn('lost commits', caught.exception.hint)

    def test_more_gates_are_overridden_for_the_rest(self) -> None:
        plan = self.plan()
        (stored,) = self.moves.moves()
        self.records.set_service('new', actor='test', disabled=True)
        rest = self.operation.propose_rest(
            stored, 'admin', ['destination_enabled'], 'CHG-42'
        )
        self.assertEqual([], rest.refused)
        result = self.execute(rest)
        self.assertEqual(30, result.count(MOVED))
        (move,) = self.moves.moves()
        self.assertEqual(('destination_enabled',), move.overrides)
        self.assertEqual(
            '; '.join(filter(None, (plan.order.reason, 'CHG-42'))), move.reason
        )

    def test_resumed_move_gives_up_refused_nodes(self) -> None:
        plan = self.plan()
        del self.ironic.nodes[world.uuid(2)]
        rest = self.plan_rest(plan)
        result = self.execute(rest)
        self.assertEqual(29, result.count(MOVED))
        (move,) = self.moves.moves()
        self.assertEqual({MOVED: 29, moves.NodeState.REFUSED: 1}, move.counts)

    def test_stopped_move_is_resumed_where_it_stopped(self) -> None:
        plan = self.plan()
        answers = iter((False, False, True))
        with mock.patch.object(move_nodes, 'BATCH', 7):
            (result,) = self.operation.execute_all(
                [plan], stopping=lambda: next(answers), stored=True
            )
        self.assertEqual(16, len(result.planned))
        self.assertEqual(14, result.count(MOVED))
        rest = self.plan_rest(plan)
        self.assertEqual(16, len(rest.nodes))
        result = self.execute(rest)
        self.assertEqual(16, result.count(MOVED))
        rest = self.plan_rest(plan)
        self.assertEqual([], list(rest.nodes))

    def test_node_with_another_owner_does_not_stop_the_rest(self) -> None:
        plan = self.plan()
        self.records.register('third', world.ALL)
        order = Move(new_request_id(), 'third', 'operator')
        self.moves.plan(
            moves.Move(order.request_id, 'third', 'operator'),
            [plan.nodes[0].node],
        )
        self.moves.carry_out(order.request_id, [plan.nodes[0].node])
        rest = self.plan_rest(plan)
        self.assertEqual([], list(rest.refused))
        result = self.execute(rest)
        self.assertEqual(29, result.count(MOVED))
        self.assertEqual(1, result.count(moves.NodeState.REFUSED))

    def test_without_a_shard_key_many_nodes_are_few_lists(self) -> None:
        self.plan()
        self.assertEqual(
            [model.Scope(shard='a'), model.Scope(shard='b')], self.scanned()
        )
        self.assertNotIn('get', [name for name, _ in self.ironic.calls])

    def test_node_without_a_shard_on_record(self) -> None:
        for sharded, lists in (
            (False, [model.Scope()]),
            (True, [model.Scope(shard='a'), model.Scope(shard='b')]),
        ):
            reader = dataclasses.replace(self.operation, sharded=sharded)
            self.assertEqual(lists, reader._lists({'a', 'b', None}))

    def test_few_nodes_are_asked_for_one_by_one(self) -> None:
        self.plan(uuids=[world.uuid(1), world.uuid(2)])
        self.assertEqual([], self.scanned())

    def test_place_is_where_ironic_has_the_node_now(self) -> None:
        self.ironic.put(world.node(1, shard='b'), world.node(2, shard='a'))
        del self.ironic.nodes[world.uuid(4)]
        plan = self.plan(scope=model.Scope(shard='b'), source=None)
        selected = {n.node.uuid for n in plan.nodes}
        self.assertIn(world.uuid(1), selected)
        self.assertNotIn(world.uuid(2), selected)
        # Gone, and last seen there: the gate has to see it.
        self.assertIn(world.uuid(4), selected)
        self.assertEqual([world.uuid(4)], [n.node.uuid for n in plan.refused])

    def test_empty_selection_is_an_error(self) -> None:
        for selected in (
            {'source': 'new'},
            {'scope': model.Scope(shard='c')},
            {'uuids': []},
        ):
            with self.assertRaises(exceptions.NotFoundError):
                self.plan(**selected)


class OfOneClass(policy.FilterPolicy):
    """Admits nodes by a field that a summary of them lacks."""

    contract_version = 1

    def admits(self, node: model.Node) -> bool:
        return node.resource_class == 'gold'


class TestFieldsOfNodes(move_case.MoveCase):
    """A gate sees the fields that the policies of the destination check."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(
            *(
                dataclasses.replace(node, resource_class='gold')
                for node in self.ironic.nodes.values()
            )
        )

    def interpret_as(
        self, found: Mapping[model.MemberSettings, policy_set.PolicySet]
    ) -> None:
        ports = dataclasses.replace(
            self.ports, interpret=lambda settings: found[settings]
        )
        self.operation = dataclasses.replace(self.operation, ports=ports)

    def planned(self) -> int:
        by_uuid = self.propose().count(moves.NodeState.PLANNED)
        scope = model.Scope(shard='a')
        in_scope = self.propose(scope=scope).count(moves.NodeState.PLANNED)
        self.assertEqual(15 if by_uuid == 30 else 0, in_scope)
        return by_uuid

    def test_policy_that_checks_another_field_gets_it(self) -> None:
        of_class = policy_set.PolicySet((OfOneClass({}),))
        self.interpret_as({world.ALL: of_class})
        self.assertEqual(30, self.planned())

    def test_policies_of_the_member_count_and_not_those_on_record(
        self,
    ) -> None:
        of_class = policy_set.PolicySet((OfOneClass({}),))
        reloaded = world.runs(shard_key='a')
        self.backend.advertise(reloaded)
        self.interpret_as(
            {world.ALL: policy_set.PolicySet(), reloaded: of_class}
        )
        self.assertEqual(30, self.planned())
        self.assertEqual(6, len(self.scanned()))

    def test_otherwise_a_summary_is_read(self) -> None:
        with mock.patch.object(
            self.ironic, 'scan', wraps=self.ironic.scan
        ) as scan:
            self.assertEqual(30, self.planned())
        self.assertEqual(
            {True}, {call.kwargs['summary'] for call in scan.mock_calls}
        )
