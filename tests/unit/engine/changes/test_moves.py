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
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.decision import policy_set
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

MOVED, REFUSED = moves.NodeState.MOVED, moves.NodeState.REFUSED
PLANNED = moves.NodeState.PLANNED


class MoveNodesTest(move_case.MoveCase):
    def test_proposal_writes_nothing(self) -> None:
        before = self.everything()
        self.assertEqual(30, len(self.propose().planned))
        self.assertEqual(before, self.everything())
        plan = self.plan()
        self.records.set_service('old', actor='test', disabled=False)
        before = self.everything()
        self.assertEqual(30, len(self.propose().refused))
        self.assertEqual(30, len(self.plan_rest(plan).refused))
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

    def test_result_of_each_node_is_logged(self) -> None:
        proposal = self.propose()
        first, taken = proposal.planned[:2]
        self.records.register('third', world.ALL)
        self.moves.plan(moves.Move('req-1', 'third', 'operator'), [taken])
        self.moves.carry_out('req-1', [taken])
        with self.assertLogs(move_nodes.__name__, 'INFO') as logged:
            self.execute(proposal)
        lines = {
            entry.args[1]: (entry.levelname, entry.args[2])
            for entry in logged.records
            if entry.msg.endswith('node %s: %s')
        }
        level, text = lines[first.uuid]
        self.assertEqual('INFO', level)
        self.assertRegex(text, 'old -> new, instance')
        level, text = lines[taken.uuid]
        self.assertEqual('WARNING', level)
        self.assertRegex(text, '^refused ')

    def test_failure_of_the_database_says_whether_to_resume(self) -> None:
        for error, raised, hint in (
            (
                exceptions.RecordsUnavailableError('no answer'),
                *(refusals.UnfinishedMoveError, 'resume req-'),
            ),
            # The database has lost it meanwhile.
            (
                exceptions.NotFoundError('there is no move'),
                *(refusals.LostMoveError, 'compute node move'),
            ),
        ):
            proposal = self.propose()
            with (
                mock.patch.object(SqlMoves, 'carry_out', side_effect=error),
                self.assertRaises(raised) as caught,
            ):
                self.execute(proposal)
            self.assertIn(hint, caught.exception.hint)
            may_resume = f'resume {proposal.order.request_id}'
            self.assertIs(
                raised is refusals.UnfinishedMoveError,
                may_resume in caught.exception.hint,
            )
            if raised is refusals.UnfinishedMoveError:
                self.assertEqual(error.code, caught.exception.code)
        for wrong, mark in (
            ('req-x', '.'),
            (f'{proposal.order.request_id}x', '?'),
        ):
            with self.assertRaises(exceptions.NotFoundError) as caught:
                move_nodes.find(self.moves, wrong)
            self.assertRegex(
                caught.exception.hint, rf'\w\{mark} If it .* lost commits'
            )

    def test_more_gates_are_overridden_for_the_rest(self) -> None:
        plan = self.plan()
        (stored,) = self.moves.moves()
        self.records.set_service('new', actor='test', disabled=True)
        rest = self.operation.propose_rest(
            stored, 'admin', ['destination_enabled'], 'CHG-42'
        )
        self.assertEqual([], rest.refused)
        self.assertEqual(30, self.execute(rest).count(MOVED))
        (move,) = self.moves.moves()
        self.assertEqual(('destination_enabled',), move.overrides)
        self.assertEqual(
            '; '.join(filter(None, (plan.order.reason, 'CHG-42'))), move.reason
        )

    def test_rest_goes_on_without_nodes_that_are_refused(self) -> None:
        plan = self.plan()
        # One is gone; of the other one the owner has changed since.
        del self.ironic.nodes[world.uuid(2)]
        taken = next(
            one.node for one in plan.nodes if one.node.uuid == world.uuid(1)
        )
        self.records.register('third', world.ALL)
        self.moves.plan(moves.Move('req-1', 'third', 'operator'), [taken])
        self.moves.carry_out('req-1', [taken])
        rest = self.plan_rest(plan)
        self.assertEqual(
            [world.uuid(2)], [one.node.uuid for one in rest.refused]
        )
        self.assertEqual(
            [world.uuid(1)], [n.node.uuid for n in rest.nodes if not n.gates]
        )
        self.assertEqual(28, self.execute(rest).count(MOVED))
        stored = move_nodes.find(self.moves, plan.order.request_id)
        self.assertEqual({MOVED: 28, REFUSED: 2}, stored.counts)

    def test_stopped_move_is_resumed_where_it_stopped(self) -> None:
        plan = self.plan()
        answers = iter((False, False, True))
        with mock.patch.object(move_nodes, 'BATCH', 7):
            result = self.execute(
                plan, stopping=lambda: next(answers), stored=True
            )
        self.assertEqual(16, len(result.planned))
        self.assertEqual(14, result.count(MOVED))
        for left in (16, 0):
            rest = self.plan_rest(plan)
            self.assertEqual(left, len(rest.nodes))
            self.assertEqual(left, self.execute(rest).count(MOVED))

    def test_many_nodes_are_few_lists_and_few_are_asked_for(self) -> None:
        self.plan()
        self.assertEqual(
            [model.Scope(shard='a'), model.Scope(shard='b')], self.scanned()
        )
        self.assertNotIn('get', [name for name, _ in self.ironic.calls])
        self.ironic.calls.clear()
        self.plan(uuids=[world.uuid(1), world.uuid(2)])
        self.assertEqual([], self.scanned())

    def test_place_is_where_ironic_has_the_node_now(self) -> None:
        self.ironic.put(world.node(1, shard='b'), world.node(2, shard='a'))
        del self.ironic.nodes[world.uuid(4)]
        plan = self.plan(scope=model.Scope(shard='b'), source=None)
        selected = {n.node.uuid for n in plan.nodes}
        even = {world.uuid(number) for number in range(4, 31, 2)}
        self.assertEqual({world.uuid(1), *even}, selected)
        # Gone, and last seen there: the gate has to see it.
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

    def node(self, number: int) -> model.Node:
        return dataclasses.replace(super().node(number), resource_class='gold')

    def interpret_as(
        self, found: Mapping[model.MemberSettings, policy_set.PolicySet]
    ) -> None:
        ports = dataclasses.replace(
            self.ports, interpret=lambda settings: found[settings]
        )
        self.operation = dataclasses.replace(self.operation, ports=ports)

    def assert_planned(self) -> None:
        self.assertEqual(30, self.propose().count(PLANNED))
        scope = model.Scope(shard='a')
        self.assertEqual(15, self.propose(scope=scope).count(PLANNED))

    def test_fields_are_those_that_the_destination_checks(self) -> None:
        of_class = policy_set.PolicySet((OfOneClass({}),))
        self.interpret_as({world.ALL: of_class})
        self.assert_planned()
        # Those of the member count, and not those on record.
        reloaded = world.runs(shard_key='a')
        self.backend.advertise(reloaded)
        self.interpret_as(
            {world.ALL: policy_set.PolicySet(), reloaded: of_class}
        )
        self.ironic.calls.clear()
        self.assert_planned()
        self.assertEqual(6, len(self.scanned()))

    def test_otherwise_a_summary_is_read(self) -> None:
        with mock.patch.object(
            self.ironic, 'scan', wraps=self.ironic.scan
        ) as scan:
            self.assert_planned()
        self.assertEqual(
            {True}, {call.kwargs['summary'] for call in scan.mock_calls}
        )
