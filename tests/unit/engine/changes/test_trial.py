"""Trials: some nodes move first, then the others, or these go back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions, model, reasons, refusals
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.moves import (
    MoveState,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.records import Claim
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.engine.changes import trial
from ironic_ownership.engine.changes.case import Proposal
from tests.contract.suites import placement
from tests.unit.engine import world
from tests.unit.engine.changes import move_case

MOVED, PLANNED = NodeState.MOVED, NodeState.PLANNED
REFUSED = NodeState.REFUSED
INTERVAL = 10.0


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

    def refreshes(self, succeeded: float = 60.0, **more: object) -> None:
        """Report a refresh of ``new``, some seconds after this moment."""
        refresh = Condition(Loop.REFRESH.value, succeeded, took=1.0)
        self.records.report_conditions(
            'new',
            'one',
            [dataclasses.replace(refresh, **more)],
            interval=INTERVAL,
            at=0.0,
        )

    def with_trial(self, number: int = 4, **selection: object) -> Proposal:
        return self.propose(**selection).with_trial(number)

    def stored(self, result: Proposal) -> dict[str, NodeMove]:
        found = self.moves.nodes(result.order.request_id)
        return {node.uuid: node for node in found}

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def assert_back(self, result: Proposal, check: str) -> None:
        """Prove that all nodes are where they were, and say why."""
        self.assertEqual({'old'}, {*self.owners().values()})
        self.assertEqual([], list(self.moves.separated()))
        self.assertEqual(30, result.count(REFUSED))
        self.assertEqual(
            REFUSED, *{n.state for n in self.stored(result).values()}
        )
        self.assertTrue(
            any(f'trial failed: {check}: ' in one for one in result.findings),
            result.findings,
        )
        self.assertEqual([], list(self.moves.moves(unfinished=True)))


class PassingTest(TrialCase):
    def test_clock_that_is_set_back_in_the_trial_fails_nothing(self) -> None:
        self.refreshes(-5.0)
        (report,) = self.records.condition_reports().values()
        found = mock.Mock(side_effect=lambda: {'new': report})
        self.frozen = True

        def refresh() -> None:
            """After each second, with a clock that is an hour behind."""
            at = report.reported_at - 3600.0 + len(self.pauses)
            (before,) = report.conditions
            now = dataclasses.replace(before, succeeded_at=at, took=0.5)
            later = dataclasses.replace(
                report, reported_at=at, conditions=(now,)
            )
            found.side_effect = lambda: {'new': later}

        self.during = refresh
        with mock.patch.object(self.records, 'condition_reports', found):
            result = self.execute(self.with_trial())
        self.assertEqual(30, result.count(MOVED))

    def test_others_follow_the_nodes_of_a_trial(self) -> None:
        owned: list[int] = []
        self.during = lambda: owned.append(
            list(self.owners().values()).count('new')
        )
        proposal = self.with_trial()
        self.assertEqual(4, len(proposal.trial))
        reported: list[tuple[int, int]] = []
        result = self.execute(
            proposal, progress=lambda *done: reported.append(done)
        )
        self.assertEqual({4}, {*owned})
        self.assertEqual(30, result.count(MOVED))
        self.assertEqual([], list(result.findings))
        self.assertEqual((0, 30), reported[0])
        self.assertEqual((30, 30), reported[-1])
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
        self.assertEqual({'new'}, {*self.owners().values()})

    def test_node_that_the_destination_owns_is_in_no_trial(self) -> None:
        first = self.execute(self.propose(uuids=[world.uuid(1)]))
        self.assertEqual(1, first.count(MOVED))
        uuids = [world.uuid(n) for n in (1, 2, 4)]
        proposal = self.with_trial(1, source=None, uuids=uuids)
        self.assertEqual([uuids[1]], [n.uuid for n in proposal.trial])

    def test_refresh_that_began_before_does_not_count(self) -> None:
        reads: list[None] = []

        def during() -> None:
            reads.append(None)
            self.frozen = len(reads) < 4
            if self.frozen:
                # It ends after the nodes have moved.
                self.refreshes(took=120.0)

        self.during = during
        self.assertEqual(30, self.execute(self.with_trial()).count(MOVED))
        self.assertEqual(4, len(reads))


class FailingTest(TrialCase):
    def test_all_go_back_if_the_new_owner_does_not_refresh(self) -> None:
        self.frozen = True
        self.refreshes(-60.0)
        events = len(self.records.events(limit=1000))
        result = self.execute(self.with_trial())
        self.assert_back(result, 'owner_acts')
        waited = trial.REFRESHES * INTERVAL + trial.ALLOWANCE
        self.assertEqual(waited, sum(p for p in self.pauses if p))
        first = [n for n in self.stored(result).values() if n.trial]
        self.assertEqual(4, len(first))
        self.assertTrue(
            all('has not refreshed' in str(n.detail) for n in first), first
        )
        others = [n for n in self.stored(result).values() if not n.trial]
        self.assertTrue(all('not moved' in str(n.detail) for n in others))
        # There, released, and back.
        more = self.records.events(limit=1000)[:-events]
        kinds = [event.kind for event in more if event.node_uuid]
        self.assertEqual(8, kinds.count('node_moved'))
        self.assertEqual(4, kinds.count('node_handed_over'))

    def test_report_from_before_the_clock_was_set_back(self) -> None:
        self.frozen = True
        self.refreshes()
        (report,) = self.records.condition_reports().values()
        before = dataclasses.replace(
            report, reported_at=report.reported_at + 600, age=-600.0
        )
        with mock.patch.object(
            self.records, 'condition_reports', return_value={'new': before}
        ):
            result = self.execute(self.with_trial())
        self.assert_back(result, 'owner_acts')

    def test_clock_that_is_set_forward_makes_no_refresh_a_later_one(
        self,
    ) -> None:
        self.frozen = True
        self.refreshes(-5.0)
        (report,) = self.records.condition_reports().values()
        (refresh,) = report.conditions
        after = dataclasses.replace(
            report,
            reported_at=report.reported_at + 3600,
            conditions=(refresh.shifted(3600.0),),
        )
        found = mock.Mock(side_effect=lambda: {'new': report})

        def jump() -> None:
            found.side_effect = lambda: {'new': after}

        self.during = jump
        with mock.patch.object(self.records, 'condition_reports', found):
            result = self.execute(self.with_trial())
        self.assert_back(result, 'owner_acts')

    def test_service_without_a_report(self) -> None:
        self.frozen = True
        self.assert_back(self.execute(self.with_trial()), 'owner_acts')

    def test_loop_that_fails(self) -> None:
        self.frozen = True
        self.during = lambda: self.refreshes(code='x', error='no Ironic')
        result = self.execute(self.with_trial())
        self.assert_back(result, 'owner_acts')
        self.assertIn('refresh: no Ironic', result.findings[0])

    def test_fenced_service(self) -> None:
        self.during = lambda: self.records.set_service(
            'new', actor='test', forced_down=True
        )
        self.assert_back(self.execute(self.with_trial()), 'owner_acts')

    def test_changed_provider_is_named_with_its_node(self) -> None:
        proposal = self.with_trial()
        bad, *good = [node.uuid for node in proposal.trial]
        self.during = lambda: self.placement.put_traits(bad, ['CUSTOM_NEW'])
        result = self.execute(proposal)
        self.assert_back(result, 'placement')
        stored = self.stored(result)
        self.assertIn('provider has changed', str(stored[bad].detail))
        for uuid in good:
            self.assertIn('other nodes', str(stored[uuid].detail))

    def test_node_that_the_cell_gives_to_another_service(self) -> None:
        with mock.patch.object(
            type(self.moves),
            'against_owner',
            lambda moves, host, uuids: {uuids[0]: f'not {host}'},
        ):
            self.assert_back(self.execute(self.with_trial()), 'cell')

    def test_node_that_is_refused_in_its_transaction(self) -> None:
        proposal = self.with_trial()
        late = proposal.trial[0].uuid
        self.records.set_service('old', actor='test', disabled=False)
        again = self.records.register('old', world.ALL)
        self.records.set_service('old', actor='test', disabled=True)
        node = dataclasses.replace(
            self.ironic.nodes[late], instance_uuid='new one'
        )
        self.records.apply(
            'old', again, [Claim(node, reasons.Reason.EXCLUSIVE, 'old')]
        )
        result = self.execute(proposal)
        self.assert_back(result, 'moved')
        self.assertIn('instance_changed', result.findings[0])

    def test_failure_of_ironic_leaves_a_trial_that_is_resumed(self) -> None:
        proposal = self.with_trial()
        down = exceptions.IronicUnavailableError('down')
        self.during = lambda: setattr(self.ironic, 'fail_with', down)
        with self.assertRaises(refusals.UnfinishedMoveError):
            self.execute(proposal)
        (move,) = self.moves.moves(unfinished=True)
        self.assertEqual(MoveState.UNFINISHED, move.state)
        rows = self.moves.nodes(move.request_id)
        self.assertEqual(4, [n.trial for n in rows].count(Trial.BACK))
        self.ironic.fail_with, self.during = None, lambda: None
        rest = self.plan_rest(proposal)
        self.assertTrue(rest.goes_back)
        self.assertEqual(
            {'old'}, {planned.destination for planned in rest.nodes}
        )
        result = self.execute(rest)
        self.assertEqual(4, result.count(REFUSED))
        self.assertEqual({'old'}, {*self.owners().values()})

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
        self.ironic.put(
            dataclasses.replace(
                self.ironic.nodes[free[0]], instance_uuid=world.uuid(999)
            )
        )
        epoch = self.records.register('old', world.ALL)
        nodes = [self.ironic.nodes[uuid] for uuid in free]
        claims = [Claim(node, reasons.Reason.EXCLUSIVE) for node in nodes]
        self.assertEqual(
            len(free), len(self.records.apply('old', epoch, claims).applied)
        )
        result = self.execute(self.plan_rest(proposal))
        self.assertEqual({'old'}, {*self.owners().values()})
        self.assertEqual({REFUSED}, {n.state for n in result.trial})
        self.assertNotIn('did not go back', str(result.findings))

    def test_busy_node_with_an_instance_does_not_go_back(self) -> None:
        self.frozen = True
        busy = world.uuid(3)
        proposal = self.with_trial(30)
        self.during = lambda: self.ironic.put(
            dataclasses.replace(self.ironic.nodes[busy], reservation='cond1')
        )
        result = self.execute(proposal)
        owners = self.owners()
        self.assertEqual('new', owners.pop(busy))
        self.assertEqual({'old'}, {*owners.values()})
        self.assertIs(MOVED, self.stored(result)[busy].state)
        self.assertIn(
            'did not go back: no_operation_in_progress',
            str(self.stored(result)[busy].detail),
        )
        self.assertEqual([], list(self.moves.moves(unfinished=True)))


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
        self.assertEqual({'old'}, {*self.owners().values()})

    def test_stop_while_it_is_verified(self) -> None:
        proposal = self.with_trial(30)
        stop: list[bool] = []
        self.during = lambda: stop.append(True)
        self.frozen = True
        stopped = self.execute(proposal, stopping=lambda: bool(stop))
        self.assertEqual(30, stopped.count(MOVED))
        (move,) = self.moves.moves(unfinished=True)
        self.assertEqual(
            (30, MoveState.UNFINISHED), (move.on_trial, move.state)
        )
        self.frozen = False
        result = self.execute(self.plan_rest(proposal))
        self.assertEqual(30, result.count(MOVED))
        self.assertEqual([], list(self.moves.moves(unfinished=True)))

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
                after = dataclasses.replace(
                    before, instance_uuid=world.uuid(999)
                )
                self.killed_at('carry_out', lambda n=after: self.ironic.put(n))
                self.ironic.put(before)

    def killed_at(
        self, name: str, then: Callable[[], object] = lambda: None
    ) -> None:
        proposal = self.with_trial()
        real = getattr(type(self.moves), name)

        def dies(moves: object, *args: object, **kwargs: object) -> object:
            if name != 'carry_out' or 'back_to' in kwargs:
                raise KeyboardInterrupt
            return real(moves, *args, **kwargs)

        with (
            mock.patch.object(type(self.moves), name, dies),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.execute(proposal)
        epoch = self.records.register('new', model.MemberSettings())
        deployed = [
            self.ironic.nodes[n.uuid]
            for n in proposal.trial
            if n.instance_uuid
        ]
        for node in deployed:
            if self.owners()[node.uuid] is None:
                outcome = self.records.apply(
                    'new', epoch, [Claim(node, reasons.Reason.EXCLUSIVE)]
                )
                self.assertEqual(1, len(outcome.refused))
        then()
        result = self.execute(self.plan_rest(proposal))
        self.assertEqual({'old'}, {*self.owners().values()})
        self.assertEqual([], list(result.planned))
        self.assertEqual([], list(self.moves.moves(unfinished=True)))
        self.assertEqual([], list(self.moves.separated()))


class TwoOperatorsTest(TrialCase):
    """Two operators resume one trial, and evaluate it differently."""

    def setUp(self) -> None:
        super().setUp()
        # All nodes of the trial have moved, and none is verified.
        self.proposal = self.with_trial()
        self.refreshes(-60.0)
        self.execute(self.proposal, stopping=lambda: len(self.of_new()) == 4)
        (move,) = self.moves.moves(unfinished=True)
        self.assertEqual((4, 26), (move.on_trial, move.counts[PLANNED]))
        self.first = self.plan_rest(self.proposal)
        self.second = self.plan_rest(self.proposal)

    def of_new(self) -> list[str]:
        return [uuid for uuid, host in self.owners().items() if host == 'new']

    def before(self, name: str, run: Callable[[], object]) -> object:
        """Run something when an operator calls a port, before that call."""
        port = type(self.moves)
        real = getattr(port, name)

        def call(moves: object, *args: object, **more: object) -> object:
            patched.stop()
            run()
            return real(moves, *args, **more)

        patched = mock.patch.object(port, name, call)
        return patched.start()

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
        self.assertEqual({'new'}, {*self.owners().values()})

    def test_rest_of_a_trial_that_passed_is_not_refused(self) -> None:
        passed: list[None] = []
        real = type(self.moves).pass_trial

        def pass_trial(moves: object, request_id: str) -> object:
            passed.append(None)
            return real(moves, request_id)

        def first() -> None:
            with mock.patch.object(type(self.moves), 'pass_trial', pass_trial):
                self.passes(stopping=lambda: bool(passed))

        self.before('fail_trial', first)
        self.assert_lost('passed', self.fails)
        self.assertEqual(4, len(self.of_new()))
        self.frozen = False
        rest = self.execute(self.plan_rest(self.proposal))
        self.assertEqual(26, rest.count(MOVED))

    def test_rest_of_a_trial_that_failed_does_not_move(self) -> None:
        def second() -> None:
            """Fail, and be killed before the other nodes are refused."""
            with (
                mock.patch.object(
                    *(type(self.moves), 'refuse'),
                    side_effect=KeyboardInterrupt,
                ),
                self.assertRaises(KeyboardInterrupt),
            ):
                self.fails()

        self.before('pass_trial', second)
        self.assert_lost('failed', self.passes)
        self.assertEqual(4, len(self.of_new()))
        rest = self.plan_rest(self.proposal)
        self.assertTrue(rest.goes_back)
        self.assertEqual(4, self.execute(rest).count(REFUSED))
        self.assertEqual([], self.of_new())

    def test_both_take_the_nodes_back(self) -> None:
        self.before('fail_trial', self.fails_as_well)
        self.assert_lost('failed', self.fails)
        self.assertEqual([], self.of_new())

    def fails_as_well(self) -> None:
        self.assert_back(self.execute(self.first), 'owner_acts')
