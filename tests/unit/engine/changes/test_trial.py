"""Trials: some nodes move first, then the others, or these go back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions, model, refusals
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.moves import (
    MoveState,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.records import Release
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import trial
from ironic_ownership.engine.changes.case import Proposal
from tests.contract.suites import placement
from tests.unit.db import sqlite
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

MOVED, PLANNED = NodeState.MOVED, NodeState.PLANNED
REFUSED = NodeState.REFUSED
OTHER = world.uuid(999)


class TrialCase(move_case.MoveCase):
    """``new`` refreshes at each pause of the operation, unless it is frozen.

    :ivar during: called at each pause before that.
    """

    def setUp(self) -> None:
        super().setUp()
        self.placement = placement.FakePlacement(self.ironic.nodes)
        self.frozen = False
        self.pauses: list[float] = []
        self.during: Callable[[], object] = lambda: None
        self.operation = dataclasses.replace(
            self.operation_with(self.placement), pause=self.pause
        )

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.during()
        if not self.frozen:
            self.refreshes()

    def with_trial(self, number: int = 4, **selection: object) -> Proposal:
        return self.propose(**selection).with_trial(number)

    def stored(self, result: Proposal) -> dict[str, NodeMove]:
        found = self.moves.nodes(result.order.request_id)
        return {node.uuid: node for node in found}

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def of_new(self) -> list[str]:
        return [uuid for uuid, host in self.owners().items() if host == 'new']

    def assert_home(self) -> None:
        """Prove that all nodes are where they were, and nothing is left."""
        self.assertEqual({'old'}, {*self.owners().values()})
        self.assertEqual([], list(self.moves.separated()))
        self.assertEqual([], list(self.unfinished()))

    def assert_back(self, result: Proposal, check: str, text: str) -> None:
        """Prove that all nodes are where they were, and the reason."""
        self.assert_home()
        self.assertEqual(30, result.count(REFUSED))
        self.assertEqual(
            {REFUSED}, {n.state for n in self.stored(result).values()}
        )
        self.assertRegex(
            '\n'.join(result.findings), f'trial failed: {check}: .*{text}'
        )


class PassingTest(TrialCase):
    def test_others_follow_the_nodes_of_a_trial(self) -> None:
        owned: list[int] = []
        self.during = lambda: owned.append(len(self.of_new()))
        proposal = self.with_trial()
        self.assertEqual(4, len(proposal.trial))
        reported: list[tuple[int, int]] = []
        result = self.execute(
            proposal, progress=lambda *done: reported.append(done)
        )
        self.assertEqual({4}, {*owned})
        self.assertEqual(30, result.count(MOVED))
        self.assertEqual([], list(result.findings))
        self.assertEqual(
            ((0, 30), (30, 30)), (reported[0], sorted(reported)[-1])
        )
        self.assertEqual(sorted(reported), reported)
        parts = [n.trial for n in self.stored(result).values()]
        self.assertEqual(4, parts.count(Trial.PASSED))
        self.assertEqual(26, parts.count(None))

    def test_trial_of_all_nodes(self) -> None:
        proposal = self.with_trial(31)
        self.assertEqual(30, len(proposal.trial))
        result = self.execute(proposal)
        self.assertEqual(30, result.count(MOVED))
        # Nothing is verified again, or goes back, when it is resumed.
        self.frozen = True
        again = self.execute(self.plan_rest(result))
        self.assertEqual(0, len(again.nodes))
        self.assertEqual(30, len(self.of_new()))

    def test_node_that_the_destination_owns_is_in_no_trial(self) -> None:
        self.execute(self.propose(uuids=[world.uuid(1)]))
        uuids = [world.uuid(n) for n in (1, 2, 4)]
        proposal = self.with_trial(1, source=None, uuids=uuids)
        self.assertEqual([uuids[1]], [n.uuid for n in proposal.trial])

    def test_move_without_a_node_to_move_is_not_stored(self) -> None:
        stored = []
        for number, state in ((1, MOVED), (2, REFUSED)):
            self.frozen = state is REFUSED
            self.refreshes(succeeded=-60.0)
            proposals = [
                self.propose(uuids=[uuid]).with_trial(1)
                for uuid in (world.uuid(number), OTHER)
            ]
            first, other = self.operation.execute_all(proposals)
            self.assertEqual(
                (1, 1), (first.count(state), other.count(REFUSED))
            )
            stored.append(first.order.request_id)
            self.assertEqual(
                stored[::-1], [one.request_id for one in self.moves.moves()]
            )

    def test_refresh_that_began_before_does_not_count(self) -> None:
        def during() -> None:
            self.frozen = len(self.pauses) < 4
            if self.frozen:
                # It ends after the nodes have moved.
                self.refreshes(took=120.0)

        self.during = during
        self.assertEqual(30, self.execute(self.with_trial()).count(MOVED))
        self.assertEqual(4, len(self.pauses))

    def test_clock_of_the_database_is_set(self) -> None:
        self.refreshes(succeeded=-5.0)
        (now,) = self.records.condition_reports().values()
        (refresh,) = now.conditions

        def shifted(by: float, **values: object) -> ConditionReport:
            found = dataclasses.replace(refresh.shifted(by), **values)
            return dataclasses.replace(
                now, reported_at=now.reported_at + by, conditions=(found,)
            )

        def before_the_trial(second: int) -> ConditionReport:
            """Return one from the future; there is no later one."""
            return dataclasses.replace(shifted(600.0), age=-600.0)

        def forward(second: int) -> ConditionReport:
            """Return the last one, which is no later one by that."""
            return shifted(3600.0) if second else now

        def back(second: int) -> ConditionReport:
            """Return one after each second, by a clock that is behind."""
            at = now.reported_at - 3600.0 + second
            by = second - 3600.0
            return shifted(by, succeeded_at=at, took=0.5) if second else now

        self.frozen = True
        for reports, passes in (
            *((before_the_trial, False), (forward, False)),
            (back, True),
        ):
            self.pauses.clear()
            found = mock.Mock(
                side_effect=lambda reports=reports: {
                    'new': reports(len(self.pauses))
                }
            )
            with (
                self.subTest(reports.__name__),
                mock.patch.object(self.records, 'condition_reports', found),
            ):
                result = self.execute(self.with_trial())
                if not passes:
                    self.assert_back(result, 'owner_acts', 'not refreshed')
                else:
                    self.assertEqual(30, result.count(MOVED))


class FailingTest(TrialCase):
    def test_all_go_back_if_the_new_owner_does_not_refresh(self) -> None:
        self.frozen = True
        self.refreshes(succeeded=-60.0)
        events = len(self.records.events(limit=1000))
        result = self.execute(self.with_trial())
        self.assert_back(result, 'owner_acts', 'has not refreshed')
        waited = trial.REFRESHES * move_case.INTERVAL + trial.ALLOWANCE
        self.assertEqual(waited, sum(self.pauses))
        details = [
            (n.trial is not None, str(n.detail))
            for n in self.stored(result).values()
        ]
        self.assertEqual(4, [part for part, _ in details].count(True))
        for of_trial, detail in details:
            self.assertIn(
                'has not refreshed' if of_trial else 'not moved', detail
            )
        # There, released, and back.
        more = self.records.events(limit=1000)[:-events]
        kinds = [event.kind for event in more if event.node_uuid]
        self.assertEqual(8, kinds.count('node_moved'))
        self.assertEqual(4, kinds.count('node_handed_over'))

    def test_node_without_an_owner_is_so_again_and_tells_why(self) -> None:
        self.frozen = True
        node = world.uuid(1)
        epoch = self.records.register('old', world.ALL)
        self.records.apply('old', epoch, [Release(node)])
        result = self.execute(self.with_trial(1, source=None, uuids=[node]))
        self.assertIsNone(self.owners()[node])
        (left,) = self.stored(result).values()
        self.assertIn('trial failed: owner_acts', str(left.detail))

    def test_new_owner_has_to_act(self) -> None:
        self.frozen = True
        lost = 'has no right to write'
        for during, text in (
            (lambda: None, 'does not report'),
            (
                lambda: self.refreshes(code='x', error='no Ironic'),
                'refresh: no Ironic',
            ),
            (
                lambda: sqlite.run_sql(
                    self.open(),
                    "UPDATE services SET fenced = 1 WHERE host = 'new'",
                ),
                lost,
            ),
            (
                lambda: self.records.set_service(
                    'new', actor='test', forced_down=True
                ),
                lost,
            ),
        ):
            with self.subTest(text):
                self.during = during
                result = self.execute(self.with_trial())
                self.assert_back(result, 'owner_acts', text)

    def test_changed_provider_is_named_with_its_node(self) -> None:
        proposal = self.with_trial()
        bad, *good = [node.uuid for node in proposal.trial]
        self.during = lambda: self.placement.put_traits(bad, ['CUSTOM_NEW'])
        result = self.execute(proposal)
        self.assert_back(result, 'placement', 'provider has changed')
        stored = self.stored(result)
        self.assertIn('provider has changed', str(stored[bad].detail))
        for uuid in good:
            self.assertIn('other nodes', str(stored[uuid].detail))

    def test_node_that_the_cell_gives_to_another_service(self) -> None:
        with mock.patch.object(
            SqlMoves,
            'against_owner',
            lambda moves, host, uuids: {uuids[0]: f'not {host}'},
        ):
            result = self.execute(self.with_trial())
        self.assert_back(result, 'cell', 'not new')

    def test_node_that_is_refused_in_its_transaction(self) -> None:
        proposal = self.with_trial()
        late = self.ironic.nodes[proposal.trial[0].uuid]
        self.records.set_service('old', actor='test', disabled=False)
        epoch = self.records.register('old', world.ALL)
        self.records.set_service('old', actor='test', disabled=True)
        node = dataclasses.replace(late, instance_uuid='new one')
        self.assertEqual([], self.claim('old', epoch, node, owner='old'))
        with self.assertLogs(trial.__name__, 'WARNING') as logged:
            result = self.execute(proposal)
        self.assertRegex(
            str(logged.output), f'moved: node {late.uuid}: .*instance_changed'
        )
        self.assert_back(result, 'moved', 'instance_changed')

    def test_node_that_was_moved_before_is_no_finding(self) -> None:
        proposal = self.with_trial(2)
        before, node = [one.uuid for one in proposal.trial]
        self.execute(self.propose(uuids=[before]))
        self.frozen = True
        result = self.execute(proposal)
        self.assertEqual([before], self.of_new())
        (finding,) = result.findings
        self.assertIn(f'{node}: trial failed', finding)

    def test_failure_of_ironic_leaves_a_trial_that_is_resumed(self) -> None:
        proposal = self.with_trial()
        down = exceptions.IronicUnavailableError('down')
        self.during = lambda: setattr(self.ironic, 'fail_with', down)
        with self.assertRaises(refusals.UnfinishedMoveError) as caught:
            self.execute(proposal)
        self.assertNotIn('the others', caught.exception.hint)
        (move,) = self.unfinished()
        self.assertEqual(MoveState.UNFINISHED, move.state)
        self.ironic.fail_with, self.during = None, lambda: None
        rest = self.plan_rest(proposal)
        self.assertTrue(rest.goes_back)
        self.assertEqual(['old'] * 4, [one.destination for one in rest.nodes])
        self.assertEqual(4, self.execute(rest).count(REFUSED))
        self.assert_home()

    def test_node_that_its_source_claimed_back_has_gone_back(self) -> None:
        self.frozen = True
        proposal = self.with_trial()
        free = [n.uuid for n in proposal.trial if not n.instance_uuid]

        def during() -> None:
            if None in self.owners().values():
                raise KeyboardInterrupt

        self.during = during
        with self.assertRaises(KeyboardInterrupt):
            self.execute(proposal)
        self.during = lambda: None
        # As when the time ends for which they are held.
        self.moves.end_release(proposal.order.request_id, free)
        self.change(free[0], instance_uuid=OTHER)
        epoch = self.records.register('old', world.ALL)
        nodes = [self.ironic.nodes[uuid] for uuid in free]
        self.assertEqual([], self.claim('old', epoch, *nodes))
        (result,) = self.resume()
        self.assert_home()
        self.assertEqual({REFUSED}, {n.state for n in result.trial})
        self.assertNotIn('did not go back', str(result.findings))

    def test_node_with_an_instance_may_stay(self) -> None:
        self.frozen = True
        changed = {
            world.uuid(3): (
                {'reservation': 'cond1'},
                'no_operation_in_progress: conductor',
            ),
            world.uuid(6): (
                {'instance_uuid': None},
                'instance_changed: Ironic has no instance on it',
            ),
        }

        def change() -> None:
            for uuid, (values, _) in changed.items():
                self.change(uuid, **values)

        proposal = self.with_trial(30)
        self.during = change
        stored = self.stored(self.execute(proposal))
        self.assertEqual([*changed], self.of_new())
        for uuid, (_, reason) in changed.items():
            self.assertIs(MOVED, stored[uuid].state)
            self.assertIn(
                f'did not go back: {reason}', str(stored[uuid].detail)
            )
        self.assertEqual([], list(self.unfinished()))


class InterruptedTest(TrialCase):
    def test_interrupted_trial_knows_that_it_is_one(self) -> None:
        proposal = self.with_trial()
        with mock.patch.object(move_nodes, 'BATCH', 2):
            calls = iter([False, True, True, True])
            stopped = self.execute(
                proposal, stopping=lambda: next(calls, True)
            )
        self.assertEqual(
            (2, 28), (stopped.count(MOVED), stopped.count(PLANNED))
        )
        rest = self.plan_rest(proposal)
        self.assertTrue(rest.has_trial)
        self.assertEqual(4, len(rest.trial))
        self.frozen = True
        self.assertEqual(30, self.execute(rest).count(REFUSED))
        self.assert_home()

    def test_stop_while_it_is_verified(self) -> None:
        proposal = self.with_trial(30)
        self.frozen = True
        stopped = self.execute(proposal, stopping=lambda: bool(self.pauses))
        self.assertEqual(30, stopped.count(MOVED))
        (move,) = self.unfinished()
        self.assertEqual(
            (30, MoveState.UNFINISHED), (move.on_trial, move.state)
        )
        self.frozen = False
        (result,) = self.resume()
        self.assertEqual(30, result.count(MOVED))
        self.assertEqual([], list(self.unfinished()))

    def test_killed_on_the_way_back(self) -> None:
        """At each of its transactions, and no service gets an instance."""
        self.frozen = True
        for name in ('fail_trial', 'refuse', 'release', 'carry_out'):
            with self.subTest(name):
                self.killed_at(name)

    def test_node_that_was_released_goes_back_also_with_another_instance(
        self,
    ) -> None:
        """No service has it, so it can't stay with the new owner."""
        self.frozen = True
        for node in self.with_trial(3).trial:
            with self.subTest(instance=node.instance_uuid):
                before = self.ironic.nodes[node.uuid]
                self.killed_at(
                    'carry_out',
                    lambda uuid=node.uuid: self.change(
                        uuid, instance_uuid=OTHER
                    ),
                )
                self.ironic.put(before)

    def killed_at(
        self, name: str, then: Callable[[], object] = lambda: None
    ) -> None:
        proposal = self.with_trial()
        real = getattr(SqlMoves, name)

        def dies(moves: object, *args: object, **kwargs: object) -> object:
            if name != 'carry_out' or 'back_to' in kwargs:
                raise KeyboardInterrupt
            return real(moves, *args, **kwargs)

        with (
            mock.patch.object(SqlMoves, name, dies),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.execute(proposal)
        epoch = self.records.register('new', model.MemberSettings())
        owners = self.owners()
        for planned in proposal.trial:
            if planned.instance_uuid and owners[planned.uuid] is None:
                node = self.ironic.nodes[planned.uuid]
                self.assertEqual([node.uuid], self.claim('new', epoch, node))
        then()
        (result,) = self.resume()
        self.assertEqual([], list(result.planned))
        self.assert_home()


class TwoOperatorsTest(TrialCase):
    """Two operators resume one trial, and evaluate it differently."""

    def setUp(self) -> None:
        super().setUp()
        # All nodes of the trial have moved, and none is verified.
        self.proposal = self.with_trial()
        self.refreshes(succeeded=-60.0)
        self.execute(self.proposal, stopping=lambda: len(self.of_new()) == 4)
        (move,) = self.unfinished()
        self.assertEqual((4, 26), (move.on_trial, move.counts[PLANNED]))
        self.first = self.plan_rest(self.proposal)
        self.second = self.plan_rest(self.proposal)

    def before(self, name: str, run: Callable[[], object]) -> None:
        """Run something when an operator calls a port, before that call."""
        real = getattr(SqlMoves, name)

        def call(moves: object, *args: object, **more: object) -> object:
            patched.stop()
            run()
            return real(moves, *args, **more)

        patched = mock.patch.object(SqlMoves, name, call)
        patched.start()

    def passes(self, **more: object) -> Proposal:
        self.frozen = False
        return self.execute(self.first, **more)

    def fails(self) -> Proposal:
        self.frozen = True
        self.refreshes(code='x', error='no Ironic')
        return self.execute(self.second)

    def assert_lost(self, outcome: str, run: Callable[[], object]) -> None:
        with self.assertRaises(refusals.DecidedTrialError) as caught:
            run()
        self.assertIn(f'first: it {outcome}', str(caught.exception))
        self.assertIn('move show req-', str(caught.exception.hint))

    def test_trial_that_passed_keeps_its_nodes(self) -> None:
        results: list[Proposal] = []
        self.before('fail_trial', lambda: results.append(self.passes()))
        self.assert_lost('passed', self.fails)
        self.assertEqual(30, results[0].count(MOVED))
        self.assertEqual(30, len(self.of_new()))

    def test_rest_of_a_trial_that_passed_is_not_refused(self) -> None:
        def first() -> None:
            with mock.patch.object(
                SqlMoves, 'pass_trial', autospec=True, side_effect=real
            ) as passed:
                self.passes(stopping=lambda: passed.called)

        real = SqlMoves.pass_trial
        self.before('fail_trial', first)
        self.assert_lost('passed', self.fails)
        self.assertEqual(4, len(self.of_new()))
        self.frozen = False
        (rest,) = self.resume()
        self.assertEqual(26, rest.count(MOVED))

    def test_rest_of_a_trial_that_failed_does_not_move(self) -> None:
        def second() -> None:
            """Fail, and be killed before the other nodes are refused."""
            killed = mock.patch.object(
                SqlMoves, 'refuse', side_effect=KeyboardInterrupt
            )
            with killed, self.assertRaises(KeyboardInterrupt):
                self.fails()

        self.before('pass_trial', second)
        self.assert_lost('failed', self.passes)
        self.assertEqual(4, len(self.of_new()))
        (rest,) = self.resume()
        self.assertEqual(4, rest.count(REFUSED))
        self.assert_home()

    def test_both_take_the_nodes_back(self) -> None:
        def as_well() -> None:
            result = self.execute(self.first)
            self.assert_back(result, 'owner_acts', 'no Ironic')

        self.before('fail_trial', as_well)
        self.assert_lost('failed', self.fails)
        self.assert_home()
