"""The right of a local member ends when the records say so, or are late."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.membership import heartbeat
from tests.unit.engine import world
from tests.unit.engine.membership.member_case import (
    LOGGER,
    MARGIN,
    TTL,
    MemberCase,
)


class TestEndOfRight(MemberCase):
    """The own row says that the right has ended; nothing was written."""

    def setUp(self) -> None:
        super().setUp()
        self.member.beat()

    def force_down(self) -> None:
        self.records.forced_down = True
        self.records.epoch += 1

    def test_each_end_is_named(self) -> None:
        for words, change in (
            (
                'another service or an operator has fenced it',
                lambda records: vars(records).update(epoch=2, fenced=True),
            ),
            (
                'given to incarnation other',
                lambda records: records.fail_over('other'),
            ),
            (
                'given to incarnation o',
                lambda records: records.register(
                    'host1', world.ALL, incarnation='o', alive=()
                ),
            ),
            (
                'was deleted',
                lambda records: vars(records).update(deleted=True),
            ),
            ('is forced down', lambda _: self.force_down()),
        ):
            with self.subTest(words):
                self.setUp()
                # The store of the members is not needed.
                self.store.available = False
                change(self.records)
                with self.assertLogs(LOGGER, 'WARNING') as logs:
                    self.assertTrue(self.member.check_epoch())
                with self.assertRaises(exceptions.FencedError) as caught:
                    self.fence.epoch()
                (line,) = logs.output
                self.assertIn(words, line)
                self.assertIn(words, str(caught.exception))

    def test_valid_row_and_no_answer_end_nothing(self) -> None:
        monitor = heartbeat.EpochMonitor(
            heartbeat.Heartbeat(
                self.member.context,
                self.member,
                interval=5.0,
                watch_interval=1.0,
            )
        )
        self.conditions.clock = self.clock
        down = exceptions.RecordsUnavailableError('down')
        for error, code in ((None, None), (down, down.code), (None, None)):
            before = self.clock()
            self.clock.elapse(1.0)
            self.records.fail_with = error
            self.assertEqual(5.0, monitor.run_step())
            self.assertEqual(1, self.fence.epoch())
            (found,) = self.conditions.of_loops([Loop.EPOCH])
            self.assertEqual(code, found.code)
            # No answer is no success.
            at = before if error else self.clock()
            self.assertEqual(at, found.succeeded_at)
        self.assertEqual(3, self.records.requested)

    def test_forced_down_one_stays_a_member_and_registers_afterwards(
        self,
    ) -> None:
        """Once, with settings that were changed meanwhile."""
        self.force_down()
        before = self.records.epoch
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(5):
                self.clock.elapse(5)
                self.member.check_epoch()
                self.member.beat()
                self.member.change_settings(world.RING)
        self.assertEqual(1, len(logs.records))
        self.assertIn('forced_down', self.conditions.standing)
        self.assertEqual(
            (before, world.ALL), (self.records.epoch, self.records.settings)
        )
        self.assertTrue(self.member.is_idle)
        self.assertEqual(world.RING, self.backend.view().get('host1').settings)
        self.assertTrue(self.member.advertises(world.RING))
        self.records.forced_down, self.records.fenced = False, True
        changes = self.changes
        for _ in range(3):
            self.member.check_epoch()
            self.member.poll()
        self.assertEqual(before + 1, self.fence.epoch())
        self.assertEqual(changes + 1, self.changes)
        self.assertEqual(world.RING, self.records.settings)
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual({}, self.conditions.standing)

    def test_settings_that_are_refused_reveal_the_end(self) -> None:
        self.force_down()
        before = self.records.epoch
        self.member.change_settings(world.RING)
        for _ in range(5):
            self.member.beat()
        self.assertEqual(before, self.records.epoch)
        self.assertFalse(self.fence.may_act)

    def test_process_that_joins_forced_down_waits_as_well(self) -> None:
        for begin in (self.member.leave, self.member.check_epoch):
            with self.subTest(begin):
                self.force_down()
                begin()
                before = self.records.epoch
                self.store.rows.clear()
                for _ in range(3):
                    self.member.beat()
                    self.member.check_epoch()
                self.assertEqual(before, self.records.epoch)
                self.assertTrue(self.member.is_idle)


class TestSlowRecords(MemberCase):
    """The records answer when a test lets them."""

    def setUp(self) -> None:
        super().setUp()
        self.requested: list[Callable[[], None]] = []
        self.member = self.build(self.requested.append)

    def answer(self) -> None:
        self.requested.pop(0)()
        self.member.poll()

    def test_heartbeats_do_not_wait_for_the_records(self) -> None:
        for _ in range(10):
            self.clock.elapse(5)
            self.member.beat()
            self.assertTrue(self.member.is_member)
        self.assertEqual(1, len(self.requested))
        self.assertTrue(self.member.registration.is_pending)
        self.assertFalse(self.fence.may_act)
        self.answer()
        self.assertEqual(1, self.fence.epoch())
        self.assertEqual(TTL - MARGIN, self.fence.remaining)

    def test_active_one_keeps_its_right_while_they_are_silent(self) -> None:
        self.member.beat()
        self.answer()
        self.member.change_settings(world.RING)
        for _ in range(10):
            self.clock.elapse(5)
            self.member.beat()
            self.assertTrue(self.fence.may_act)
        self.assertEqual(1, len(self.requested))
        # A reload waits for both stores, and a refresh follows.
        self.assertFalse(self.member.advertises(world.RING))
        before = self.changes
        self.answer()
        self.member.poll()
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual(before + 1, self.changes)

    def test_result_from_before_a_loss_is_ignored(self) -> None:
        self.member.beat()
        self.requested[0]()
        self.store.rows.clear()
        self.member.beat()
        self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.requested.pop(0)
        self.member.poll()
        self.answer()
        self.assertEqual(2, self.fence.epoch())

    def test_role_that_came_too_late_is_given_up(self) -> None:
        """Or the next process would wait, and others not."""
        self.member.beat()
        self.requested.pop(0)()
        self.member.leave(7.0)
        self.assertEqual([7.0], self.records.retired)
        # Without an answer, there is nothing to give up.
        self.member.beat()
        self.member.leave(8.0)
        self.assertEqual([7.0], self.records.retired)

    def test_request_whose_thread_cannot_be_started_is_sent_again(
        self,
    ) -> None:
        self.member.registration.run_in_background = mock.Mock(
            side_effect=[RuntimeError("can't start new thread"), None]
        )
        self.assertRaises(RuntimeError, self.member.beat)
        self.member.beat()
        self.assertTrue(self.member.registration.is_pending)
