"""The local member as a standby of another process."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from tests.unit.engine.membership.member_case import (
    LOGGER,
    MARGIN,
    TTL,
    MemberCase,
)


class TestStandby(MemberCase):
    """Another process of host1 is active."""

    def setUp(self) -> None:
        super().setUp()
        self.active = self.other('host1', 'first')
        self.records.active, self.records.epoch = 'first', 1

    def stand_by(self) -> None:
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.member.beat()
            for _ in range(5):
                self.clock.elapse(TTL / 4)
                self.active.beat()
                self.member.beat()
        self.assertEqual(1, len(logs.records))
        self.assertIn('first', logs.output[0])
        self.assertTrue(self.member.is_idle)
        self.assertFalse(self.member.check_epoch())

    def test_standby_takes_over_as_soon_as_the_active_one_is_dead(
        self,
    ) -> None:
        self.stand_by()
        with self.assertRaisesRegex(
            exceptions.FencedError, 'stands by for incarnation first'
        ) as refused:
            self.fence.epoch()
        self.assertTrue(refused.exception.lasting)
        self.assertEqual(1, self.records.epoch)
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

    def test_active_one_that_registered_since_it_was_seen_is_not_replaced(
        self,
    ) -> None:
        # Found by the model: a process that was frozen came back after this
        # one had found it dead, and before its request was committed.
        self.stand_by()
        self.store.rows.pop(('host1', 'first'))
        self.member.poll()
        self.clock.elapse(0.1)
        self.records.epoch += 1
        self.member.beat()
        self.assertEqual('standby', self.member.state.role)
        self.assertEqual('first', self.records.active)
        # It is dead under this epoch, too.
        self.member.poll()
        self.assertEqual(3, self.fence.epoch())

    def test_process_that_starts_waits_for_one_that_the_store_misses(
        self,
    ) -> None:
        # After a jump of its clock, until the next heartbeat.
        (row,) = self.store.rows.items()
        self.store.rows.clear()
        self.member.beat()
        self.assertEqual('standby', self.member.state.role)
        self.store.rows.update([row])
        for _ in range(6):
            self.clock.elapse(TTL / 4)
            self.active.beat()
            self.member.beat()
            self.assertEqual('standby', self.member.state.role)
        self.assertEqual(1, self.records.epoch)

    def test_process_that_starts_replaces_a_dead_one_after_one_ttl(
        self,
    ) -> None:
        self.store.rows.clear()
        self.member.beat()
        for _ in range(3):
            self.clock.elapse(TTL / 4)
            self.member.beat()
            self.assertEqual('standby', self.member.state.role)
        self.clock.elapse(TTL / 4)
        self.member.beat()
        self.assertEqual(2, self.fence.epoch())

    def test_process_that_starts_after_a_clean_stop_is_active_at_once(
        self,
    ) -> None:
        """Alone, it asks the records for nothing more."""
        self.records.retire('host1', 1, grace=0)
        self.active.leave()
        for _ in range(3):
            self.member.beat()
            self.member.poll()
        self.assertEqual(3, self.fence.epoch())
        self.assertEqual(0, self.records.requested)

    def test_standby_takes_over_from_one_that_left_at_the_next_poll(
        self,
    ) -> None:
        self.stand_by()
        self.clock.elapse(10)
        self.records.retire('host1', 1, grace=0)
        self.active.leave()
        self.member.poll()
        self.assertEqual(3, self.fence.epoch())
        # From its last beat.
        self.assertEqual(TTL - MARGIN - 10, self.fence.remaining)
