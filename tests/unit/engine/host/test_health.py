"""Laws of a process' health: nothing is healthy that does nothing."""

from __future__ import annotations

import dataclasses
import unittest
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Claim, Delete, Outcome, Report
from ironic_ownership.engine import conditions
from ironic_ownership.engine.conditions import Conditions, hangs
from ironic_ownership.engine.host.health import ConditionMonitor
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership_plugin_kit import fakes
from tests.unit.engine.host.healths import FAILS, WORKS, health

TAKEN = Condition(Loop.ORDERS, code=conditions.NODES_TAKEN, error='2 nodes')
LOST = Condition(Loop.HEARTBEAT, code='x', error='no answer')


class TestFaults(unittest.TestCase):
    def test_each_state_has_its_fault_or_none(self) -> None:
        for values, faults in (
            ({}, []),
            ({'loops': (WORKS, FAILS)}, ['refresh: Ironic does not answer']),
            (
                {'loops': (dataclasses.replace(WORKS, ended=True),)},
                ['heartbeat: its thread has ended'],
            ),
            (
                {'fence_remaining': 0.0},
                ['no valid membership: nothing is acted on'],
            ),
            ({'role': Role.STARTING}, ['not registered yet']),
            # A standby only has to stay a member.
            ({'role': Role.STANDBY, 'loops': (WORKS, FAILS)}, []),
            (
                {'role': Role.STANDBY, 'loops': (LOST,)},
                ['heartbeat: no answer'],
            ),
            ({'role': Role.FORCED_DOWN, 'loops': (FAILS,)}, []),
            (
                {'loops': (dataclasses.replace(TAKEN, code='not_enforced'),)},
                ['standing-orders: 2 nodes'],
            ),
            # What it only has to tell.
            ({'loops': (TAKEN,)}, []),
            (
                {'loops': (Condition(Loop.COMMITS, code='records_rewound'),)},
                [],
            ),
            ({'loops': (Condition(Loop.CLOCKS, code='clock_skew'),)}, []),
        ):
            with self.subTest(values):
                self.assertEqual(faults, health(**values).faults)


class TestCounts(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = fakes.FakeClock()
        self.conditions = Conditions(self.clock)

    def test_errors_are_counted_by_loop_and_code(self) -> None:
        """One that still hangs is one; others are of no loop."""
        for _ in range(3):
            self.conditions.report('refresh', 'no answer', code='down')
            self.conditions.report(hangs(Loop.EPOCH), 'hangs', code='hangs')
        self.conditions.report('contested', 'a node', code='none of a loop')
        self.assertEqual(
            {('refresh', 'down'): 3, (Loop.EPOCH, 'hangs'): 1},
            self.conditions.errors,
        )

    def test_code_of_a_loop_that_hangs_is_that_of_what_holds_it(self) -> None:
        self.conditions.report(hangs(Loop.REFRESH), 'it hangs', code='hangs')
        self.clock.elapse(1)
        self.conditions.report('slow policies', 'P hangs', code='plugin_fault')
        (found,) = self.conditions.of_loops([Loop.REFRESH])
        self.assertEqual(('plugin_fault', 1000), (found.code, found.since))
        self.assertEqual('P hangs; it hangs', found.error)

    def test_duration_of_the_last_success_is_kept(self) -> None:
        self.conditions.succeeded(Loop.REFRESH, 2.5)
        self.conditions.succeeded(Loop.REFRESH)
        (refresh,) = self.conditions.of_loops([Loop.REFRESH])
        self.assertEqual(2.5, refresh.took)

    def test_changes_are_counted_by_kind_and_reason(self) -> None:
        log = OperatorLog('host1', self.conditions)
        node = model.Node('00000000-0000-4000-8000-000000000001')
        for change in (
            Claim(node, Reason.EXCLUSIVE),
            Claim(node, Reason.EXCLUSIVE, 'host2'),
            Delete(node.uuid),
            Report(node.uuid, None),
        ):
            log.changed(change)
        log.applied(Outcome(fenced=('host2', 'host3')))
        self.assertEqual(
            {
                ('claim', 'exclusive'): 2,
                ('delete', 'node_gone'): 1,
                ('fence', ''): 2,
            },
            log.changes(),
        )

    def test_refresh_that_did_something_else_is_stored_at_once(self) -> None:
        member = mock.Mock()
        member.context.conditions = self.conditions
        store = member.context.ports.records.report_conditions
        monitor = ConditionMonitor(
            member, mock.Mock(dead=()), lambda: 60.0, [Loop.REFRESH], ()
        )
        monitor.may_store = True
        for did, stored in (('nothing', 1), ('nothing', 1), ('claimed', 2)):
            self.conditions.succeeded(Loop.REFRESH, 1.0, did)
            monitor.store()
            self.assertEqual(stored, store.call_count, did)
        (condition,) = store.call_args.args[2]
        self.assertEqual('claimed', condition.did)
