from __future__ import annotations

import unittest
from collections.abc import Callable
from unittest import mock
from unittest.mock import ANY

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import local_member, registration
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from tests.unit.engine import clock, world

TTL, MARGIN = 20.0, 1.0
LOGGER = 'ironic_ownership.engine'


class FakeRecords:
    """The records, as far as a member uses them, with one service."""

    def __init__(self) -> None:
        self.epoch = 0
        self.settings: model.MemberSettings | None = None
        self.active: str | None = None
        self.forced_down = self.fenced = self.deleted = False
        self.retired: list[float] = []
        self.requested = 0
        self.fail_with: Exception | None = None

    def register(self, host, settings, *, incarnation, alive) -> int:
        if self.fail_with is not None:
            raise self.fail_with
        if self.forced_down:
            raise exceptions.FencedError('forced down')
        if self.active in alive and self.active != incarnation:
            raise exceptions.StandbyError(host, self.active)
        self.epoch += 1
        self.fenced = self.deleted = False
        self.active = incarnation
        self.settings = settings
        return self.epoch

    def advertise(self, host, epoch, settings) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        if self.forced_down or self.fenced or epoch != self.epoch:
            raise exceptions.FencedError('another epoch')
        self.settings = settings

    def retire(self, host, epoch, *, grace) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        if epoch != self.epoch:
            raise exceptions.FencedError('another epoch')
        self.epoch += 1
        self.active = None
        self.retired.append(grace)

    def fail_over(self, incarnation: str) -> None:
        self.epoch += 1
        self.active = incarnation

    def service(self, host: str) -> model.Service | None:
        self.requested += 1
        if self.fail_with is not None:
            raise self.fail_with
        if self.deleted:
            return None
        return model.Service(
            host,
            self.epoch,
            forced_down=self.forced_down,
            fenced=self.fenced or self.forced_down,
            incarnation=self.active,
        )


class MemberCase(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = clock.Clock()
        self.store = memory.MemoryStore(self.clock)
        self.records = FakeRecords()
        self.fence = Fence(TTL, MARGIN, self.clock)
        self.conditions = conditions.Conditions()
        self.changes = 0
        self.died: list[frozenset[str]] = []
        self.backend = self.build_backend()
        self.member = self.build('host1', self.backend)

    def build_backend(self) -> memory.MemoryBackend:
        return memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=self.store
        )

    def build(
        self, host, backend, fence=None, run_in_background=registration.run_now
    ) -> local_member.LocalMember:
        return local_member.LocalMember(
            ServiceContext(
                host,
                Ports(self.records, ANY, backend, world.interpret),
                fence or self.fence,
                self.conditions,
                self.clock,
            ),
            world.ALL,
            self.changed,
            run_in_background,
        )

    def changed(self, died: frozenset[str]) -> None:
        self.changes += 1
        if died:
            self.died.append(died)

    def other(self, host: str, name: str = 'another') -> memory.MemoryBackend:
        joined = self.build_backend()
        joined.join(host, name, world.ALL)
        return joined

    def settle(self) -> None:
        for _ in range(6):
            self.clock.elapse(4)
            self.member.beat()

    def incarnation(self) -> str:
        return self.backend.view().get('host1').incarnation


class TestLocalMember(MemberCase):
    def test_next_expiry_is_by_its_own_clock(self) -> None:
        self.assertIsNone(self.member.next_expiry)
        self.member.beat()
        self.other('host2')
        joined = self.clock()
        self.clock.elapse(5)
        self.member.beat()
        self.assertEqual(joined + TTL, self.member.next_expiry)
        self.clock.elapse(TTL - 5)
        self.member.poll()  # its own beat is the next to expire
        self.assertEqual(joined + 5 + TTL, self.member.next_expiry)

    def test_first_beat_joins_registers_and_gives_the_right(self) -> None:
        self.member.beat()
        self.assertEqual({'host1'}, self.backend.view().hosts)
        self.assertEqual(1, self.fence.epoch())

    def test_beats_keep_incarnation_epoch_and_right(self) -> None:
        self.member.beat()
        before = self.incarnation()
        for _ in range(10):
            self.clock.elapse(5)
            self.member.beat()
        self.assertEqual(before, self.incarnation())
        self.assertEqual(1, self.fence.epoch())

    def test_right_counts_from_the_start_of_a_slow_beat(self) -> None:
        self.member.beat()
        beat = self.backend.beat

        def slowly() -> None:
            self.clock.elapse(TTL - 2)
            beat()

        self.backend.beat = slowly
        self.member.beat()
        self.assertTrue(self.fence.may_act)
        self.clock.elapse(1)
        self.assertFalse(self.fence.may_act)

    def test_lost_membership_ends_the_right_immediately(self) -> None:
        self.member.beat()
        self.clock.elapse(10)
        self.store.rows.clear()
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.assertEqual(1, len(logs.records))

    def test_lost_member_rejoins_immediately_with_a_new_epoch(self) -> None:
        """The incarnation is that of the process, and stays."""
        self.member.beat()
        before = self.incarnation()
        self.clock.elapse(TTL)
        self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.assertTrue(self.member.wants_beat)
        self.member.beat()
        self.assertFalse(self.member.wants_beat)
        self.assertEqual(before, self.incarnation())
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual({}, self.conditions.standing)

    def test_outage_is_logged_once_and_the_right_expires(
        self,
    ) -> None:
        self.member.beat()
        self.store.available = False
        with self.assertLogs(LOGGER, 'INFO') as logs:
            for _ in range(3):
                self.clock.elapse(5)
                self.member.beat()
                self.assertTrue(self.fence.may_act)
            self.clock.elapse(4)
            self.assertFalse(self.fence.may_act)
            self.member.beat()
        self.assertEqual(['WARNING'], [r.levelname for r in logs.records])

    def test_short_outage_costs_neither_membership_nor_epoch(self) -> None:
        self.member.beat()
        self.store.available = False
        self.clock.elapse(10)
        self.member.beat()
        self.store.available = True
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.member.beat()
        self.assertEqual(
            ['heartbeat succeeded again'],
            [r.getMessage() for r in logs.records],
        )
        self.assertEqual(1, self.fence.epoch())

    def test_without_registration_there_is_no_right(self) -> None:
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.member.beat()
        self.assertEqual(1, len(logs.records))
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        self.member.beat()
        self.assertEqual(1, self.fence.epoch())

    def test_lost_epoch_ends_the_right_and_the_next_beat_registers(
        self,
    ) -> None:
        self.member.beat()
        before = self.incarnation()
        self.records.fenced = True
        self.assertTrue(self.member.check_epoch())
        self.assertFalse(self.fence.may_act)
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual(before, self.incarnation())
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_epoch_lost_while_the_records_are_down_is_not_used_again(
        self,
    ) -> None:
        self.member.beat()
        self.records.fenced = True
        self.member.check_epoch()
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_leaving_drops_the_right_first(self) -> None:
        self.member.beat()
        seen = []
        leave = self.backend.leave

        def poll() -> None:
            seen.append(self.fence.may_act)
            leave()

        self.backend.leave = poll
        self.member.leave()
        self.assertEqual([False], seen)
        self.assertEqual(set(), self.backend.view().hosts)
        self.member.leave()
        self.assertEqual([False], seen)

    def test_leaving_during_an_outage_ends_without_an_error(self) -> None:
        self.member.beat()
        self.store.available = False
        with self.assertLogs(LOGGER, 'WARNING'):
            self.member.leave()
        self.assertFalse(self.fence.may_act)

    def test_process_that_never_joined_has_nothing_to_leave(self) -> None:
        self.store.available = False
        with self.assertNoLogs(LOGGER, 'INFO'):
            self.member.leave()

    def test_change_of_members_is_notified_once(self) -> None:
        self.member.beat()
        self.assertEqual(1, self.changes)
        self.member.beat()
        self.assertEqual(1, self.changes)
        other = self.other('host2')
        self.member.beat()
        self.assertEqual(2, self.changes)
        other.advertise(world.RING)
        self.member.beat()
        self.assertEqual(3, self.changes)
        other.leave()
        self.member.beat()
        self.assertEqual(4, self.changes)

    def advertised(self) -> object:
        return self.backend.view().get('host1').settings

    def test_changed_settings_are_advertised_by_the_next_beat(self) -> None:
        self.member.beat()
        before = self.incarnation()
        self.member.change_settings(world.RING)
        self.assertFalse(self.member.advertises(world.RING))
        self.assertEqual(world.ALL, self.advertised())
        self.member.beat()
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual(world.RING, self.advertised())
        self.assertEqual(world.RING, self.records.settings)
        self.assertEqual((before, 1), (self.incarnation(), self.fence.epoch()))
        self.assertEqual(2, self.changes)

    def test_changed_settings_reach_the_records_in_the_end(self) -> None:
        self.member.beat()
        self.member.change_settings(world.RING)
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.member.beat()
        self.assertEqual(world.RING, self.advertised())
        self.assertFalse(self.member.advertises(world.RING))
        self.records.fail_with = None
        self.member.beat()
        self.assertTrue(self.member.advertises(world.RING))

    def test_settings_are_written_only_when_they_change(self) -> None:
        self.member.beat()
        self.records.fail_with = AssertionError('wrote settings again')
        self.member.change_settings(world.ALL)
        self.member.beat()

    def test_fenced_process_registers_with_the_changed_settings(self) -> None:
        self.member.beat()
        self.member.change_settings(world.RING)
        self.records.fenced = True
        self.member.beat()
        self.assertFalse(self.fence.may_act)
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual(world.RING, self.records.settings)
        self.assertTrue(self.member.advertises(world.RING))


class TestLooks(MemberCase):
    def test_member_missing_from_a_view_beats_early_and_only_once(
        self,
    ) -> None:
        self.member.beat()
        view = self.backend.view
        self.backend.view = model.View
        changes = self.changes
        self.member.poll()
        self.assertTrue(self.member.wants_beat)
        self.member.beat()
        self.assertFalse(self.member.wants_beat)
        self.assertEqual(changes, self.changes)
        self.assertTrue(self.fence.may_act)
        self.backend.view = view
        self.member.poll()
        self.backend.view = model.View
        self.member.poll()
        self.assertTrue(self.member.wants_beat)

    def test_failed_poll_costs_neither_right_nor_membership(self) -> None:
        self.member.beat()

        def fail():
            raise exceptions.BackendUnavailableError('slow')

        view, self.backend.view = self.backend.view, fail
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(5):
                self.clock.elapse(5)
                self.member.beat()
                self.member.poll()
                self.assertTrue(self.fence.may_act)
        self.assertEqual(1, len(logs.records))
        self.backend.view = view
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.member.poll()
        self.assertEqual(1, len(logs.records))

    def test_death_is_notified_once_after_a_beat_of_its_own(self) -> None:
        self.settle()
        changes = self.changes
        self.other('host3')
        self.member.poll()
        self.clock.elapse(1)
        self.store.rows.pop(('host3', 'another'))
        self.member.poll()
        self.assertTrue(self.member.wants_beat)
        self.assertEqual([], self.died)
        self.clock.elapse(0.1)
        self.member.beat()
        self.assertEqual([frozenset({'host3'})], self.died)
        self.member.poll()
        self.assertEqual(1, len(self.died))
        self.assertEqual(changes + 2, self.changes)

    def test_view_that_is_the_same_again_is_no_change(self) -> None:
        self.settle()
        self.other('host3')
        self.member.poll()
        before = self.changes
        gone = self.store.rows.pop(('host3', 'another'))
        self.member.poll()
        self.store.rows['host3', 'another'] = gone
        self.member.beat()
        self.assertEqual((before, []), (self.changes, self.died))


class TestStandby(MemberCase):
    """Another process of host1 is active."""

    def setUp(self) -> None:
        super().setUp()
        self.active = self.other('host1', 'first')
        self.records.active, self.records.epoch = 'first', 1

    def stand_by(self) -> None:
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.clock.elapse(1)
                self.active.beat()
                self.member.beat()
        self.assertEqual(1, len(logs.records))
        self.assertIn('first', logs.output[0])
        self.assertTrue(self.member.is_idle)

    def test_second_process_of_a_host_stands_by_and_logs_it(self) -> None:
        self.stand_by()
        with self.assertRaises(exceptions.FencedError) as caught:
            self.fence.epoch()
        self.assertIn('stands by for incarnation first', str(caught.exception))
        self.assertEqual(1, self.records.epoch)

    def test_standby_takes_over_as_soon_as_the_active_one_is_dead(
        self,
    ) -> None:
        self.stand_by()
        changes = self.changes
        self.store.rows.pop(('host1', 'first'))
        self.member.poll()
        self.assertTrue(self.member.is_idle)
        self.assertTrue(self.member.wants_beat)
        self.clock.elapse(0.1)
        self.member.beat()
        self.assertFalse(self.member.is_idle)
        self.assertEqual(2, self.fence.epoch())
        # The first one went, and this one became active.
        self.assertEqual(changes + 2, self.changes)
        self.assertEqual([], self.died)

    def test_standby_takes_over_from_one_that_left_at_the_next_poll(
        self,
    ) -> None:
        self.stand_by()
        self.records.retire('host1', 1, grace=0)
        self.active.leave()
        self.member.poll()
        self.assertEqual(3, self.fence.epoch())

    def test_store_that_lost_them_all_makes_no_standby_active(self) -> None:
        self.stand_by()
        self.store.rows.clear()
        self.member.poll()
        self.member.beat()
        self.assertTrue(self.member.is_idle)
        self.assertEqual('first', self.records.active)

    def test_right_of_the_new_one_counts_from_its_last_beat(self) -> None:
        self.stand_by()
        self.clock.elapse(10)
        self.records.retire('host1', 1, grace=0)
        self.member.poll()
        self.assertEqual(TTL - MARGIN - 10, self.fence.remaining)

    def test_planned_switch_activates_only_the_named_process(
        self,
    ) -> None:
        self.stand_by()
        third = self.build(
            'host1', self.build_backend(), Fence(TTL, MARGIN, self.clock)
        )
        third.beat()
        self.records.fail_over(self.member._registration.identity.incarnation)
        third.poll()
        self.assertTrue(third.is_idle)
        self.member.poll()
        self.assertEqual(3, self.fence.epoch())

    def test_relieved_one_notices_stands_by_and_does_not_come_back(
        self,
    ) -> None:
        self.stand_by()
        self.records.retire('host1', 1, grace=0)
        self.member.poll()
        self.assertTrue(self.fence.may_act)
        self.records.fail_over('first')
        for _ in range(5):
            self.clock.elapse(1)
            self.active.beat()
            self.member.check_epoch()
            self.member.poll()
            self.member.beat()
            self.assertTrue(self.member.is_idle)
            self.assertFalse(self.fence.may_act)
        self.assertEqual('first', self.records.active)

    def test_named_one_that_dies_is_not_waited_for(self) -> None:
        self.stand_by()
        self.records.retire('host1', 1, grace=0)
        self.member.poll()
        self.records.fail_over('first')
        self.store.rows.pop(('host1', 'first'))
        for _ in range(2):
            self.member.poll()
            self.clock.elapse(0.1)
            self.member.beat()
        self.member.check_epoch()
        self.member.poll()
        self.assertFalse(self.member.is_idle)
        self.assertTrue(self.fence.may_act)

    def test_active_one_that_is_alone_asks_the_records_for_nothing(
        self,
    ) -> None:
        self.active.leave()
        self.member.beat()
        for _ in range(3):
            self.member.poll()
            self.member.beat()
        self.assertEqual(0, self.records.requested)


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
        self.assertTrue(self.member.awaits_records)
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


class TestLeave(MemberCase):
    def test_active_role_is_given_up_before_the_membership(self) -> None:
        self.member.beat()
        seen = []
        leave = self.backend.leave
        self.backend.leave = lambda: (
            seen.append((self.fence.may_act, self.records.retired[:])),
            leave(),
        )
        self.member.leave(30.0)
        self.assertEqual([(False, [30.0])], seen)

    def test_process_that_resumed_too_late_writes_nothing(self) -> None:
        self.member.beat()
        self.clock.elapse(TTL - MARGIN)
        self.member.leave(30.0)
        self.assertEqual([], self.records.retired)

    def test_standby_has_nothing_to_give_up(self) -> None:
        self.other('host1', 'first')
        self.records.active = 'first'
        self.member.beat()
        self.member.leave(30.0)
        self.assertEqual([], self.records.retired)

    def test_records_that_do_not_answer_hold_up_nothing(self) -> None:
        self.member.beat()
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        with self.assertLogs(LOGGER, 'WARNING'):
            self.member.leave(30.0)
        self.assertEqual(set(), self.backend.view().hosts)

    def test_superseded_process_retires_nothing(self) -> None:
        self.member.beat()
        self.records.fail_over('another')
        self.member.leave(30.0)
        self.assertEqual('another', self.records.active)


class TestJoinWithoutAnAnswer(MemberCase):
    """The store accepts the join, but its answer comes too late."""

    def build_backend(self) -> memory.MemoryBackend:
        case = self

        class Late(memory.MemoryBackend):
            def join(self, host, incarnation, settings) -> None:
                super().join(host, incarnation, settings)
                if case.late:
                    case.late = False
                    raise exceptions.BackendUnavailableError('no answer')

        self.late = False
        return Late({}, member_ttl=TTL, call_timeout=5, store=self.store)

    def test_next_attempt_does_not_meet_its_own_ghost(self) -> None:
        self.late = True
        self.member.beat()
        self.assertFalse(self.member.is_member)
        self.member.beat()
        self.assertTrue(self.member.is_member)
