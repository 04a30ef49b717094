from __future__ import annotations

import unittest

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import fence, membership, notices
from tests.unit.engine import clock, world

TTL, MARGIN = 20.0, 1.0
LOGGER = 'ironic_ownership.engine'


class Register:
    """The two methods of the records that membership uses."""

    def __init__(self) -> None:
        self.epoch = 0
        self.settings: model.MemberSettings | None = None
        self.fail_with: Exception | None = None

    def register(self, host, settings) -> int:
        if self.fail_with is not None:
            raise self.fail_with
        self.epoch += 1
        self.settings = settings
        return self.epoch

    def advertise(self, host, epoch, settings) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        self.settings = settings


class MembershipCase(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = clock.Clock()
        self.store = memory.MemoryStore(self.clock)
        self.records = Register()
        self.fence = fence.Fence(TTL, MARGIN, self.clock)
        self.notices = notices.Notices()
        self.changes = 0
        self.backend = self.build_backend()
        self.membership = self.build('host1', self.backend)

    def build_backend(self) -> memory.MemoryBackend:
        return memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=self.store
        )

    def build(self, host, backend) -> membership.Membership:
        return membership.Membership(
            membership.Identity(host, world.ALL),
            backend,
            self.records,
            self.fence,
            self.notices,
            self.changed,
            self.clock,
        )

    def changed(self) -> None:
        self.changes += 1

    def other(self, host: str) -> memory.MemoryBackend:
        joined = self.build_backend()
        joined.join(host, 'another', world.ALL)
        return joined

    def incarnation(self) -> str:
        return self.backend.view().get('host1').incarnation


class TestMembership(MembershipCase):
    def test_first_beat_joins_registers_and_gives_the_right(self) -> None:
        self.membership.beat()
        self.assertEqual({'host1'}, self.backend.view().hosts)
        self.assertEqual(1, self.fence.epoch())

    def test_beats_keep_incarnation_epoch_and_right(self) -> None:
        self.membership.beat()
        before = self.incarnation()
        for _ in range(10):
            self.clock.elapse(5)
            self.membership.beat()
        self.assertEqual(before, self.incarnation())
        self.assertEqual(1, self.fence.epoch())

    def test_right_counts_from_the_start_of_a_slow_beat(self) -> None:
        self.membership.beat()
        beat = self.backend.beat

        def slowly() -> None:
            self.clock.elapse(TTL - 2)
            beat()

        self.backend.beat = slowly
        self.membership.beat()
        self.assertTrue(self.fence.may_act)
        self.clock.elapse(1)
        self.assertFalse(self.fence.may_act)

    def test_lost_membership_ends_the_right_at_once(self) -> None:
        self.membership.beat()
        self.clock.elapse(10)
        self.store.rows.clear()
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.membership.beat()
        self.assertFalse(self.fence.may_act)
        self.assertEqual(1, len(logs.records))

    def test_who_lost_it_rejoins_with_new_incarnation_and_epoch(self) -> None:
        self.membership.beat()
        before = self.incarnation()
        self.clock.elapse(TTL)
        self.membership.beat()
        self.membership.beat()
        self.assertNotEqual(before, self.incarnation())
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual({}, self.notices.standing)

    def test_outage_is_said_once_and_the_right_runs_out_by_itself(
        self,
    ) -> None:
        self.membership.beat()
        self.store.available = False
        with self.assertLogs(LOGGER, 'INFO') as logs:
            for _ in range(3):
                self.clock.elapse(5)
                self.membership.beat()
                self.assertTrue(self.fence.may_act)
            self.clock.elapse(4)
            self.assertFalse(self.fence.may_act)
            self.membership.beat()
        self.assertEqual(['WARNING'], [r.levelname for r in logs.records])

    def test_short_outage_costs_neither_membership_nor_epoch(self) -> None:
        self.membership.beat()
        self.store.available = False
        self.clock.elapse(10)
        self.membership.beat()
        self.store.available = True
        with self.assertLogs(LOGGER, 'INFO') as logs:
            self.membership.beat()
        self.assertEqual(
            ['heartbeats succeed again'],
            [r.getMessage() for r in logs.records],
        )
        self.assertEqual(1, self.fence.epoch())

    def test_without_registration_there_is_no_right(self) -> None:
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.membership.beat()
        self.assertEqual(1, len(logs.records))
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        self.membership.beat()
        self.assertEqual(1, self.fence.epoch())

    def test_lost_epoch_ends_the_right_and_the_next_beat_registers(
        self,
    ) -> None:
        self.membership.beat()
        before = self.incarnation()
        self.membership.lose_epoch()
        self.assertFalse(self.fence.may_act)
        self.membership.beat()
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual(before, self.incarnation())
        self.membership.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_epoch_lost_while_the_records_are_down_is_not_used_again(
        self,
    ) -> None:
        self.membership.beat()
        self.membership.lose_epoch()
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.membership.beat()
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        self.membership.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_leaving_drops_the_right_first(self) -> None:
        self.membership.beat()
        seen = []
        leave = self.backend.leave

        def look() -> None:
            seen.append(self.fence.may_act)
            leave()

        self.backend.leave = look
        self.membership.leave()
        self.assertEqual([False], seen)
        self.assertEqual(set(), self.backend.view().hosts)
        self.membership.leave()
        self.assertEqual([False], seen)

    def test_leaving_during_an_outage_ends_without_an_error(self) -> None:
        self.membership.beat()
        self.store.available = False
        with self.assertLogs(LOGGER, 'WARNING'):
            self.membership.leave()
        self.assertFalse(self.fence.may_act)

    def test_who_never_joined_has_nothing_to_leave(self) -> None:
        self.store.available = False
        with self.assertNoLogs(LOGGER, 'INFO'):
            self.membership.leave()

    def test_second_process_of_a_host_is_told_and_gets_no_right(self) -> None:
        self.other('host1')
        with self.assertRaises(exceptions.MemberExistsError):
            self.membership.beat()
        self.assertFalse(self.fence.may_act)
        self.assertEqual(0, self.records.epoch)

    def test_change_of_members_is_told_once(self) -> None:
        self.membership.beat()
        self.assertEqual(1, self.changes)
        self.membership.beat()
        self.assertEqual(1, self.changes)
        other = self.other('host2')
        self.membership.beat()
        self.assertEqual(2, self.changes)
        other.advertise(world.RING)
        self.membership.beat()
        self.assertEqual(3, self.changes)
        other.leave()
        self.membership.beat()
        self.assertEqual(4, self.changes)

    def advertised(self) -> object:
        return self.backend.view().get('host1').settings

    def test_changed_settings_are_advertised_by_the_next_beat(self) -> None:
        self.membership.beat()
        before = self.incarnation()
        self.membership.change_settings(world.RING)
        self.assertFalse(self.membership.advertises(world.RING))
        self.assertEqual(world.ALL, self.advertised())
        self.membership.beat()
        self.assertTrue(self.membership.advertises(world.RING))
        self.assertEqual(world.RING, self.advertised())
        self.assertEqual(world.RING, self.records.settings)
        self.assertEqual((before, 1), (self.incarnation(), self.fence.epoch()))
        self.assertEqual(2, self.changes)

    def test_changed_settings_reach_the_records_in_the_end(self) -> None:
        self.membership.beat()
        self.membership.change_settings(world.RING)
        self.records.fail_with = exceptions.RecordsUnavailableError('down')
        self.membership.beat()
        self.assertEqual(world.RING, self.advertised())
        self.assertFalse(self.membership.advertises(world.RING))
        self.records.fail_with = None
        self.membership.beat()
        self.assertTrue(self.membership.advertises(world.RING))

    def test_settings_are_written_only_when_they_change(self) -> None:
        self.membership.beat()
        self.records.fail_with = AssertionError('wrote settings again')
        self.membership.change_settings(world.ALL)
        self.membership.beat()

    def test_who_was_fenced_registers_with_the_changed_settings(self) -> None:
        self.membership.beat()
        self.membership.change_settings(world.RING)
        self.records.fail_with = exceptions.FencedError('fenced')
        self.membership.beat()
        self.assertFalse(self.fence.may_act)
        self.records.fail_with = None
        self.membership.beat()
        self.assertEqual(2, self.fence.epoch())
        self.assertEqual(world.RING, self.records.settings)
        self.assertTrue(self.membership.advertises(world.RING))


class TestJoinWithoutAnAnswer(MembershipCase):
    """The store joins us, but its answer comes too late to be heard."""

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
        self.membership.beat()
        self.assertFalse(self.membership.is_member)
        self.membership.beat()
        self.assertTrue(self.membership.is_member)
