"""The right of a local member ends when the records say so, or are late."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.membership.fence import Fence
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

    def assert_ended(self, *words: str) -> None:
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.assertTrue(self.member.check_epoch())
        with self.assertRaises(exceptions.FencedError) as caught:
            self.fence.epoch()
        (line,) = logs.output
        for word in words:
            self.assertIn(word, line)
            self.assertIn(word, str(caught.exception))

    def test_valid_row_changes_nothing(self) -> None:
        self.assertFalse(self.member.check_epoch())
        self.assertEqual(1, self.fence.epoch())
        self.assertEqual(1, self.records.requested)

    def test_fence_of_another_service_is_named(self) -> None:
        self.records.epoch, self.records.fenced = 2, True
        self.assert_ended('another service or an operator has fenced it')

    def test_fail_over_is_named(self) -> None:
        self.records.fail_over('other')
        self.assert_ended('given to incarnation other')

    def test_registration_of_another_process_is_named(self) -> None:
        self.records.register('host1', world.ALL, incarnation='o', alive=())
        self.assert_ended('given to incarnation o')

    def test_deletion_is_named(self) -> None:
        self.records.deleted = True
        self.assert_ended('was deleted')

    def test_forced_down_service_is_named(self) -> None:
        self.force_down()
        self.assert_ended('is forced down')

    def test_beat_under_way_does_not_open_the_fence_again(self) -> None:
        beat = self.backend.beat

        def meanwhile() -> None:
            beat()
            self.records.fenced = True
            self.member.check_epoch()

        self.backend.beat = meanwhile
        with mock.patch.object(self.member, 'poll'):
            self.member.beat()
            self.assertFalse(self.fence.may_act)
            self.backend.beat = beat
            self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_store_of_the_members_is_not_needed(self) -> None:
        self.store.available = False
        self.force_down()
        self.assert_ended('is forced down')

    def test_records_that_do_not_answer_end_nothing(self) -> None:
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.assertFalse(self.member.check_epoch())
        self.assertEqual(1, self.fence.epoch())

    def test_forced_down_one_stays_a_member_and_does_not_register(
        self,
    ) -> None:
        self.force_down()
        before = self.records.epoch
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(5):
                self.clock.elapse(5)
                self.member.check_epoch()
                self.member.beat()
                self.member.poll()
        self.assertEqual(1, len(logs.records))
        self.assertEqual(before, self.records.epoch)
        self.assertTrue(self.member.is_idle)
        self.assertEqual({'host1'}, self.backend.view().hosts)
        self.assertIn('forced_down', self.conditions.standing)

    def test_it_registers_once_when_that_is_taken_back(self) -> None:
        self.force_down()
        self.member.check_epoch()
        self.records.forced_down, self.records.fenced = False, True
        before, changes = self.records.epoch, self.changes
        for _ in range(3):
            self.member.check_epoch()
            self.member.poll()
        self.assertEqual(before + 1, self.fence.epoch())
        self.assertEqual(changes + 1, self.changes)
        self.assertEqual({}, self.conditions.standing)

    def test_settings_changed_meanwhile_are_advertised_and_stored_then(
        self,
    ) -> None:
        self.force_down()
        self.member.check_epoch()
        self.member.change_settings(world.RING)
        before = self.records.epoch
        for _ in range(3):
            self.member.check_epoch()
            self.member.beat()
        self.assertEqual(before, self.records.epoch)
        self.assertEqual(world.RING, self.backend.view().get('host1').settings)
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual(world.ALL, self.records.settings)
        self.records.forced_down = False
        self.member.check_epoch()
        self.member.beat()
        self.assertEqual(world.RING, self.records.settings)
        self.assertTrue(self.member.advertises(world.RING))

    def test_settings_that_are_refused_reveal_the_end(self) -> None:
        self.force_down()
        before = self.records.epoch
        self.member.change_settings(world.RING)
        for _ in range(5):
            self.member.beat()
        self.assertEqual(before, self.records.epoch)
        self.assertFalse(self.fence.may_act)

    def test_process_that_starts_forced_down_waits_as_well(self) -> None:
        self.force_down()
        self.member.leave()
        fence = Fence(TTL, MARGIN, self.clock)
        later = self.build('host1', self.build_backend(), fence)
        before = self.records.epoch
        for _ in range(3):
            later.beat()
            later.check_epoch()
        self.assertEqual(before, self.records.epoch)
        self.assertTrue(later.is_idle)
        self.records.forced_down = False
        later.check_epoch()
        # The process that was active may be alive until then.
        self.clock.elapse(TTL / 2)
        later.beat()
        self.assertTrue(later.is_idle)
        self.clock.elapse(TTL / 2)
        later.beat()
        self.assertEqual(before + 1, fence.epoch())

    def test_membership_that_is_lost_meanwhile_registers_nothing(self) -> None:
        self.force_down()
        self.member.check_epoch()
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
        self.member = self.build(
            'host1', self.backend, run_in_background=self.requested.append
        )

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

    def test_failure_is_logged_and_retried(self) -> None:
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.member.beat()
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.answer()
            self.member.poll()
            self.answer()
        self.assertEqual(1, len(logs.records))
        self.records.fail_with = None
        self.member.poll()
        self.answer()
        self.assertTrue(self.fence.may_act)
