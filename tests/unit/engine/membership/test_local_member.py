"""The local member joins, beats, and is fenced."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from tests.unit.engine import world
from tests.unit.engine.membership.member_case import (
    LOGGER,
    MARGIN,
    TTL,
    MemberCase,
)


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
        self.assertIn(('heartbeat', 'not_member'), self.conditions.errors)

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

    def test_outage_is_logged_once_and_the_right_expires(self) -> None:
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

    def test_outage_while_a_host_is_missing_is_no_busy_loop(self) -> None:
        other = self.other('host2')
        for _ in range(6):
            self.clock.elapse(4)
            other.beat()
            self.member.beat()
        other.leave()
        self.member.poll()
        self.assertTrue(self.member.wants_beat)
        self.store.available = False
        self.member.beat()
        self.assertFalse(self.member.wants_beat)
        self.store.available = True
        self.clock.elapse(5)
        self.member.beat()
        self.assertEqual([{'host2'}], self.died)

    def test_settings_that_the_records_know_later_are_a_change(self) -> None:
        """A reload waits for both, and a refresh follows."""
        requests: list[Callable[[], None]] = []
        self.member = self.build(
            'host1', self.backend, run_in_background=requests.append
        )
        self.member.beat()
        requests.pop()()
        self.member.poll()
        self.member.change_settings(world.RING)
        self.member.beat()
        self.assertFalse(self.member.advertises(world.RING))
        before = self.changes
        requests.pop()()
        self.member.poll()
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual(before + 1, self.changes)
        self.member.poll()
        self.assertEqual(before + 1, self.changes)

    def test_request_whose_thread_cannot_be_started_is_sent_again(
        self,
    ) -> None:
        starts = iter([RuntimeError("can't start new thread")])

        def run(work: Callable[[], None]) -> None:
            for error in starts:
                raise error
            work()

        self.member = self.build('host1', self.backend, run_in_background=run)
        with self.assertRaises(RuntimeError):
            self.member.beat()
        self.member.beat()
        self.assertTrue(self.fence.may_act)

    def test_first_view_for_a_long_time_declares_no_death(self) -> None:
        """The clock of the store may have jumped since the last one."""
        self.member.beat()
        other = self.other('host2')
        view = self.backend.view
        down = exceptions.BackendUnavailableError('down')
        for fails in (None, down):
            self.backend.view = mock.Mock(side_effect=fails, wraps=view)
            for _ in range(6):
                self.clock.elapse(4)
                other.beat()
                self.member.beat()
        self.backend.view = lambda: view().without({'host2'})
        for _ in range(3):
            self.clock.elapse(4)
            other.beat()
            self.member.beat()
            self.assertFalse(self.member.liveness().is_dead('host2'))
        self.assertTrue(self.fence.may_act)
        self.backend.view = view
        for _ in range(3):
            self.clock.elapse(4)
            other.beat()
            self.member.beat()
        self.assertTrue(self.member.liveness().settled)
        self.assertEqual([], self.died)
        other.leave()
        self.member.poll()
        self.clock.elapse(1)
        self.member.beat()
        self.assertEqual([{'host2'}], self.died)

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

    def test_settings_stored_without_an_answer_are_not_known(self) -> None:
        """A change times out, is stored all the same, and is taken back."""
        self.member.beat()
        store = self.backend.advertise

        def without_answer(settings) -> None:
            store(settings)
            raise exceptions.BackendUnavailableError('late')

        self.member.change_settings(world.RING)
        with mock.patch.object(self.backend, 'advertise', without_answer):
            self.member.beat()
        self.assertEqual(world.RING, self.advertised())
        self.member.change_settings(world.ALL)
        self.assertFalse(self.member.advertises(world.ALL))
        self.member.beat()
        self.assertTrue(self.member.advertises(world.ALL))
        self.assertEqual(world.ALL, self.advertised())

    def test_settings_that_are_stored_late_do_not_stay(self) -> None:
        """A request that was given up is carried out after a later one."""
        self.member.beat()
        self.backend.advertise(world.RING)
        self.member.poll()
        self.assertFalse(self.member.advertises(world.ALL))
        self.member.beat()
        self.assertEqual(world.ALL, self.advertised())
        self.records.settings = world.RING
        before = self.fence.epoch()
        self.assertTrue(self.member.check_epoch())
        self.assertFalse(self.member.advertises(world.ALL))
        self.member.poll()
        self.assertEqual(world.ALL, self.records.settings)
        self.assertTrue(self.member.advertises(world.ALL))
        self.assertFalse(self.member.check_epoch())
        self.assertEqual(before, self.fence.epoch())

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

    def test_store_that_lost_all_others_kills_none(self) -> None:
        """All but one have joined again when this process reads them."""
        self.settle()
        for host in ('host2', 'host3', 'host4'):
            self.other(host)
        self.member.poll()
        self.clock.elapse(1)
        for host in ('host2', 'host3', 'host4'):
            del self.store.rows[host, 'another']
        self.other('host2')
        self.other('host3')
        for _ in range(3):
            self.member.beat()
            self.clock.elapse(1)
        self.assertFalse(self.member.liveness().is_dead('host4'))

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
