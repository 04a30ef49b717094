"""The local member joins, beats, and is fenced."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import exceptions, model
from tests.unit.engine import world
from tests.unit.engine.membership.member_case import (
    LOGGER,
    MARGIN,
    TTL,
    MemberCase,
)

DOWN = exceptions.RecordsUnavailableError('down')
LATE = exceptions.BackendUnavailableError('late')


class TestBeats(MemberCase):
    def test_lost_member_rejoins_immediately_with_a_new_epoch(self) -> None:
        """The incarnation is that of the process, and stays."""
        self.member.beat()
        before = self.incarnation()
        self.store.rows.clear()
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.member.beat()
        self.assertEqual(1, len(logs.records))
        self.assertIn(('heartbeat', 'not_member'), self.conditions.errors)
        self.assertFalse(self.fence.may_act)
        self.assertTrue(self.member.wants_beat)
        self.member.beat()
        self.assertFalse(self.member.wants_beat)
        self.assertEqual(before, self.incarnation())
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual({}, self.conditions.standing)

    def test_right_counts_from_the_start_of_a_slow_beat(self) -> None:
        self.member.beat()
        beat = self.backend.beat

        def slowly() -> None:
            self.clock.elapse(TTL - 2)
            beat()

        self.backend.beat = slowly
        self.member.beat()
        self.assertEqual(1, self.fence.remaining)

    def test_outage_is_logged_once_and_the_right_expires(self) -> None:
        for lasts, again in ((15, True), (TTL - MARGIN / 2, False)):
            with self.subTest(lasts=lasts):
                self.setUp()
                self.member.beat()
                self.store.available = False
                with self.assertLogs(LOGGER, 'INFO') as logs:
                    for _ in range(3):
                        self.clock.elapse(lasts / 3)
                        self.member.beat()
                    self.assertEqual(again, self.fence.may_act)
                    self.store.available = True
                    self.member.beat()
                self.assertEqual(1, self.fence.epoch())
                self.assertEqual(
                    ['WARNING', 'INFO'], [r.levelname for r in logs.records]
                )

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

    def test_without_registration_there_is_no_right(self) -> None:
        self.records.fail_with = DOWN
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.member.beat()
        self.assertEqual(1, len(logs.records))
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.member.beat()
        self.assertIn('registered in the records', str(logs.output))
        self.assertEqual(1, self.fence.epoch())

    def advertised(self) -> object:
        return self.backend.view().get('host1').settings

    def test_changed_settings_are_advertised_by_the_next_beat(self) -> None:
        """And reach the records in the end, once."""
        self.member.beat()
        before = self.incarnation()
        self.member.change_settings(world.RING)
        self.assertFalse(self.member.advertises(world.RING))
        self.assertEqual(world.ALL, self.advertised())
        self.records.fail_with = DOWN
        self.member.beat()
        self.assertEqual(world.RING, self.advertised())
        self.assertFalse(self.member.advertises(world.RING))
        self.records.fail_with = None
        self.member.beat()
        self.assertTrue(self.member.advertises(world.RING))
        self.assertEqual(world.RING, self.records.settings)
        self.assertEqual((before, 1), (self.incarnation(), self.fence.epoch()))
        self.records.fail_with = AssertionError('wrote settings again')
        self.member.change_settings(world.RING)
        self.member.beat()


class TestPolls(MemberCase):
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

    def test_change_of_members_is_notified_once(self) -> None:
        self.member.beat()
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

    def test_member_missing_from_a_view_beats_early_and_only_once(
        self,
    ) -> None:
        self.member.beat()
        view = self.backend.view
        for _ in range(2):
            self.backend.view = model.View
            self.member.poll()
            self.assertTrue(self.member.wants_beat)
            self.member.beat()
            self.assertFalse(self.member.wants_beat)
            self.assertTrue(self.fence.may_act)
            self.backend.view = view
            self.member.poll()
        self.assertEqual(1, self.changes)

    def test_death_is_notified_once_after_a_beat_of_its_own(self) -> None:
        self.settle()
        changes = self.changes
        self.other('host3')
        self.member.poll()
        self.clock.elapse(1)
        gone = self.store.rows.pop(('host3', 'another'))
        self.member.poll()
        # A view that is the same again is no change.
        self.store.rows['host3', 'another'] = gone
        self.member.poll()
        self.assertEqual((changes + 1, []), (self.changes, self.died))
        self.store.rows.pop(('host3', 'another'))
        self.member.poll()
        self.assertTrue(self.member.wants_beat)
        self.assertEqual([], self.died)
        self.clock.elapse(0.1)
        self.member.beat()
        self.member.poll()
        self.assertEqual([frozenset({'host3'})], self.died)
        self.assertEqual(changes + 2, self.changes)

    def test_first_view_for_a_long_time_declares_no_death(self) -> None:
        """The clock of the store may have jumped since the last one."""
        other = self.other('host2')
        view = self.backend.view

        def beat(times: int) -> None:
            for _ in range(times):
                self.clock.elapse(4)
                other.beat()
                self.member.beat()

        beat(6)
        self.backend.view = mock.Mock(side_effect=LATE)
        beat(6)
        self.backend.view = lambda: view().without({'host2'})
        beat(3)
        self.assertFalse(self.member.liveness().is_dead('host2'))
        self.assertTrue(self.fence.may_act)
        self.backend.view = view
        beat(3)
        self.assertTrue(self.member.liveness().settled)
        self.assertEqual([], self.died)


class TestLeave(MemberCase):
    def test_active_role_is_given_up_before_the_membership(self) -> None:
        self.member.beat()
        seen = []
        leave = self.backend.leave
        self.backend.leave = lambda: (
            seen.append((self.fence.may_act, self.records.retired[:])),
            leave(),
        )
        for _ in range(2):
            self.member.leave(30.0)
        self.assertEqual([(False, [30.0])], seen)
        self.assertEqual(set(), self.backend.view().hosts)

    def test_process_without_the_role_retires_nothing(self) -> None:
        for name, arrange in (
            ('resumed too late', lambda: self.clock.elapse(TTL - MARGIN)),
            ('superseded', lambda: self.records.fail_over('another')),
            ('standby', lambda: None),
        ):
            with self.subTest(name):
                self.setUp()
                if name == 'standby':
                    self.other('host1', 'another')
                    self.records.active = 'another'
                self.member.beat()
                arrange()
                active = self.records.active
                self.member.leave(30.0)
                self.assertEqual(
                    ([], active), (self.records.retired, self.records.active)
                )

    def test_outage_holds_up_nothing(self) -> None:
        for name, members in (('records', set()), ('members', {'host1'})):
            with self.subTest(name):
                self.setUp()
                self.member.beat()
                self.records.fail_with = DOWN if name == 'records' else None
                self.store.available = name == 'records'
                with self.assertLogs(LOGGER, 'WARNING'):
                    self.member.leave(30.0)
                self.assertFalse(self.fence.may_act)
                self.store.available = True
                self.assertEqual(members, self.backend.view().hosts)
