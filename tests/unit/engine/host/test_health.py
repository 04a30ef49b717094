"""Laws of a process' health: nothing is healthy that does nothing."""

from __future__ import annotations

import dataclasses
import unittest
from unittest.mock import ANY, Mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Claim, Delete, Outcome, Report
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.conditions import Conditions, hangs
from ironic_ownership.engine.host.health import (
    ConditionMonitor,
    StatusReport,
)
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership_plugin_kit import fakes
from tests.unit.db import sqlite
from tests.unit.engine.host.healths import FAILS, WORKS, health


class TestFaults(unittest.TestCase):
    def test_active_process_that_works_has_none(self) -> None:
        self.assertEqual([], health().faults)

    def test_each_loop_that_fails_is_one(self) -> None:
        found = health(loops=(WORKS, FAILS)).faults
        self.assertEqual(['refresh: Ironic does not answer'], found)

    def test_what_it_only_has_to_tell_is_none(self) -> None:
        taken = Condition(Loop.ORDERS, code='nodes_taken', error='2 nodes')
        for one in (
            taken,
            Condition(Loop.COMMITS, code=conditions.LOST_COMMITS, error='2'),
            Condition(Loop.CLOCKS, code=conditions.CLOCK_SKEW, error='9 s'),
        ):
            self.assertEqual([], health(loops=(one,)).faults)
        other = dataclasses.replace(taken, code='not_enforced')
        self.assertEqual(
            ['standing-orders: 2 nodes'], health(loops=(other,)).faults
        )

    def test_thread_that_has_ended_is_one(self) -> None:
        ended = dataclasses.replace(WORKS, ended=True)
        self.assertEqual(
            ['heartbeat: its thread has ended'], health(loops=(ended,)).faults
        )

    def test_active_process_without_the_right_to_act_has_one(self) -> None:
        self.assertIn(
            'no valid membership', health(fence_remaining=0.0).faults[0]
        )

    def test_process_that_is_not_registered_has_one(self) -> None:
        self.assertEqual(
            ['not registered yet'], health(role=Role.STARTING).faults
        )

    def test_standby_only_has_to_stay_a_member(self) -> None:
        standby = health(role=Role.STANDBY, loops=(WORKS, FAILS))
        self.assertEqual([], standby.faults)
        lost = Condition(Loop.HEARTBEAT, code='x', error='no answer')
        self.assertEqual(
            ['heartbeat: no answer'],
            dataclasses.replace(standby, loops=(lost,)).faults,
        )

    def test_process_that_an_operator_forces_down_has_none(self) -> None:
        self.assertEqual(
            [], health(role=Role.FORCED_DOWN, loops=(FAILS,)).faults
        )


class TestCounts(unittest.TestCase):
    def test_errors_are_counted_by_loop_and_code(self) -> None:
        conditions = Conditions()
        for _ in range(3):
            conditions.report('refresh', 'no answer', code='down')
        conditions.report('contested', 'a node', code='none of a loop')
        self.assertEqual({('refresh', 'down'): 3}, conditions.errors)

    def test_loop_that_still_hangs_is_one_error(self) -> None:
        conditions = Conditions()
        for _ in range(3):
            conditions.report(hangs(Loop.REFRESH), 'hangs', code='hangs')
        self.assertEqual({('refresh', 'hangs'): 1}, conditions.errors)

    def test_code_of_a_loop_that_hangs_is_that_of_what_holds_it(self) -> None:
        now = iter((1.0, 2.0))
        conditions = Conditions(lambda: next(now))
        conditions.report(hangs(Loop.REFRESH), 'it hangs', code='hangs')
        conditions.report('slow policies', 'P hangs', code='plugin_fault')
        (found,) = conditions.of_loops([Loop.REFRESH])
        self.assertEqual(('plugin_fault', 1.0), (found.code, found.since))
        self.assertEqual('P hangs; it hangs', found.error)

    def test_duration_of_the_last_success_is_kept(self) -> None:
        conditions = Conditions()
        conditions.succeeded(Loop.REFRESH, 2.5)
        conditions.succeeded(Loop.HEARTBEAT)
        self.assertEqual({'refresh': 2.5}, conditions.took)

    def test_changes_are_counted_by_kind_and_reason(self) -> None:
        log = OperatorLog('host1', Conditions())
        node = model.Node('00000000-0000-4000-8000-000000000001')
        log.changed(Claim(node, Reason.EXCLUSIVE))
        log.changed(Claim(node, Reason.EXCLUSIVE, 'host2'))
        log.changed(Delete(node.uuid))
        log.changed(Report(node.uuid, None))
        log.applied(Outcome(fenced=('host2', 'host3')))
        self.assertEqual(
            {
                ('claim', 'exclusive'): 2,
                ('delete', 'node_gone'): 1,
                ('fence', ''): 2,
            },
            log.changes(),
        )


class TestStore(unittest.TestCase):
    def test_refresh_that_did_something_else_is_stored_at_once(self) -> None:
        found = Conditions(lambda: 1000.0)
        member = Mock(is_standby=False)
        member.context.conditions = found
        store = member.context.ports.records.report_conditions
        monitor = ConditionMonitor(
            member, Mock(dead=()), lambda: 60.0, [Loop.REFRESH], ()
        )
        monitor.may_store = True
        for did, stored in (('nothing', 1), ('nothing', 1), ('claimed', 2)):
            found.succeeded(Loop.REFRESH, 1.0, did)
            monitor.store()
            self.assertEqual(stored, store.call_count, did)
        (condition,) = store.call_args.args[2]
        self.assertEqual('claimed', condition.did)


VIEW = model.View()


class TestSelfReport(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = fakes.FakeClock()
        self.fence = fence.Fence(20, 1, self.clock)
        self.records = SqlRecords(self.open_with_schema())
        self.register()
        self.status = StatusReport(
            ServiceContext(
                'host1',
                Ports(self.records, ANY, ANY, ANY),
                self.fence,
                conditions.Conditions(),
                self.clock,
            )
        )

    def register(self) -> None:
        epoch = self.records.register('host1', model.MemberSettings())
        self.fence.open(self.clock(), epoch)

    def stored(self) -> str | None:
        (row,) = self.records.services()
        return row.config_error

    def test_status_is_stored_and_cleared(self) -> None:
        self.status.config_error = 'no such option'
        self.status.store(VIEW)
        self.assertEqual('no such option', self.stored())
        self.status.config_error = None
        self.status.store(VIEW)
        self.assertIsNone(self.stored())

    def test_same_status_is_stored_again_only_after_a_registration(
        self,
    ) -> None:
        self.status.config_error = 'no such option'
        self.status.store(VIEW)
        self.records.report(
            'host1', self.fence.epoch(), view_checksum='', config_error=None
        )
        self.status.store(VIEW)
        self.assertIsNone(self.stored())
        self.register()
        self.status.store(VIEW)
        self.assertEqual('no such option', self.stored())

    def test_fenced_service_stores_nothing(self) -> None:
        self.clock.elapse(60)
        with self.assertRaises(exceptions.FencedError):
            self.status.store(VIEW)
