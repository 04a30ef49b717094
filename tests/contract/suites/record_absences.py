"""A service that was stopped, and is expected back or not.

Every implementation of the records passes this suite, on the clock of its
database: a subclass adds ``elapse``.
"""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Change, Release
from tests.contract.suites import records

GRACE = 600.0


class AbsenceContract(records.RecordsContract):
    """Retirement, and the grace period after it."""

    def elapse(self, seconds: float) -> None:
        """Let time pass for the database of this test."""
        raise NotImplementedError

    def retired(self, *changes: Change, grace: float = GRACE) -> int:
        """Register a service, have it change something and retire.

        :returns: the epoch that it had.
        """
        epoch = self.records.register(
            'host1', records.SETTINGS, incarnation='one'
        )
        self.assert_applied('host1', epoch, *changes)
        self.records.retire('host1', epoch, grace=grace)
        return epoch

    def test_retired_process_writes_nothing_more(self) -> None:
        old = self.retired()
        before = self.state()
        for epoch in (old, old + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', epoch, [records.claim(1)])
        with self.assertRaises(exceptions.FencedError):
            self.records.advertise('host1', old, records.SETTINGS)
        with self.assertRaises(exceptions.FencedError):
            self.records.retire('host1', old, grace=0)
        self.assertEqual(before, self.state())

    def test_no_process_is_active_after_a_retirement(self) -> None:
        epoch = self.retired()
        service = self.service('host1')
        self.assertIsNone(service.incarnation)
        self.assertTrue(service.fenced)
        self.assertGreater(service.epoch, epoch)
        self.records.register(
            'host1', records.SETTINGS, incarnation='two', alive=['one', 'two']
        )
        self.assertEqual('two', self.service('host1').incarnation)

    def test_retirement_leaves_one_event(self) -> None:
        for grace in (GRACE, 0):
            self.retired(grace=grace)
            event = self.records.events()[0]
            self.assertEqual(
                ('host1', 'service_retired', 'host1', None),
                (event.actor, event.kind, event.from_host, event.to_host),
            )
        self.assertEqual(4, len(self.records.events()))

    def test_process_that_was_fenced_cannot_retire(self) -> None:
        old = self.register('host1')
        # By the clock: it may be any greater one.
        current = self.register('host1')
        before = self.state()
        for epoch in (old, current + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.retire('host1', epoch, grace=GRACE)
        with self.assertRaises(exceptions.FencedError):
            self.records.retire('host2', 1, grace=GRACE)
        self.assertEqual(before, self.state())

    def test_retired_service_is_away_until_its_grace_ends(self) -> None:
        self.retired()
        self.assertTrue(self.service('host1').away)
        self.elapse(GRACE / 2)
        self.assertTrue(self.service('host1').away)
        self.elapse(GRACE / 2 + 1)
        self.assertFalse(self.service('host1').away)

    def test_service_without_grace_is_not_away(self) -> None:
        self.register('host2')
        self.retired(grace=0)
        for host in ('host1', 'host2'):
            self.assertFalse(self.service(host).away)

    def test_registration_ends_the_absence(self) -> None:
        self.retired()
        self.register('host1')
        service = self.service('host1')
        self.assertFalse(service.away or service.fenced)

    def test_forced_down_service_is_not_away(self) -> None:
        self.retired()
        changed = self.records.set_service(
            'host1', actor='alice', forced_down=True
        )
        self.assertFalse(changed.away)
        self.assertFalse(self.service('host1').away)
        changed = self.records.set_service(
            'host1', actor='alice', forced_down=False
        )
        self.assertTrue(changed.away)

    def test_other_decisions_leave_it_away(self) -> None:
        self.retired()
        changed = self.records.set_service(
            'host1', actor='alice', disabled=True
        )
        self.assertTrue(changed.away)
        self.assertTrue(self.service('host1').away)

    def test_nodes_of_a_service_that_is_away_cannot_be_claimed(self) -> None:
        epoch = self.retired(records.claim(1))
        other = self.register('host2')
        for seen in (epoch, epoch + 1):
            self.assert_refused(
                'host2',
                other,
                records.claim(1, seen_host='host1', seen_epoch=seen),
            )

    def test_nodes_are_claimed_once_the_grace_has_ended(self) -> None:
        epoch = self.retired(records.claim(1))
        other = self.register('host2')
        self.elapse(GRACE + 1)
        self.assert_applied(
            'host2',
            other,
            records.claim(1, seen_host='host1', seen_epoch=epoch + 1),
        )
        self.assertEqual('host2', self.owner(1))

    def test_nodes_of_a_service_without_grace_are_claimed_at_once(
        self,
    ) -> None:
        epoch = self.retired(records.claim(1), grace=0)
        other = self.register('host2')
        self.assert_applied(
            'host2',
            other,
            records.claim(1, seen_host='host1', seen_epoch=epoch + 1),
        )
        kinds = [e.kind for e in self.records.events()]
        self.assertNotIn('service_fenced', kinds)

    def test_nodes_of_a_forced_down_service_are_claimed_at_once(self) -> None:
        epoch = self.retired(records.claim(1))
        self.records.set_service('host1', actor='alice', forced_down=True)
        other = self.register('host2')
        self.assert_applied(
            'host2',
            other,
            records.claim(1, seen_host='host1', seen_epoch=epoch + 2),
        )

    def test_service_that_is_away_and_back_has_its_nodes(self) -> None:
        self.retired(records.claim(1), records.claim(2, instance_uuid='i'))
        epoch = self.register('host1')
        self.assertEqual(['host1'] * 2, [self.owner(n) for n in (1, 2)])
        self.assert_applied('host1', epoch, Release(records.uuid(1)))
