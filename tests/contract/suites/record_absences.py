"""A service that was stopped, and is expected back or not."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Release
from tests.contract.suites.records import RecordsContract, claim, uuid

GRACE = 600.0


class AbsenceContract(RecordsContract):
    """``host1``, whose process owned nodes 1 and 2, retires."""

    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1', incarnation='one')
        self.register('host2')
        self.applied('host1', claim(1), claim(2, instance_uuid='i'))

    def retire(self, grace: float = GRACE) -> None:
        self.records.retire('host1', self.epoch, grace=grace)

    def assert_away(self, away: bool) -> None:
        """Check that its nodes can be claimed only if it is not away."""
        self.assertIs(away, self.service('host1').away)
        take = self.take(1, seen_epoch=self.service('host1').epoch)
        if away:
            self.refused('host2', take)
            self.refused('host2', self.take(1, seen_epoch=self.epoch))
        else:
            self.applied('host2', take)
            self.assertEqual([], self.events('service_fenced'))

    def test_retired_process_has_no_right_and_no_place(self) -> None:
        self.retire()
        self.assert_has(
            self.service('host1'),
            incarnation=None,
            fenced=True,
            epoch=self.epoch + 1,
        )
        (event,) = self.events('service_retired')
        self.assert_has(event, actor='host1', from_host='host1', to_host=None)
        self.assert_fenced('host1', self.epoch, self.epoch + 1)
        self.register('host1', incarnation='two', alive=['one', 'two'])
        self.assertEqual('two', self.service('host1').incarnation)

    def test_process_that_was_fenced_cannot_retire(self) -> None:
        self.retire()
        # By the clock: it may be any greater one.
        current = self.register('host1')
        before = self.state()
        for host, epoch in (
            ('host1', self.epoch),
            ('host1', current + 1),
            ('host3', 1),
        ):
            with (
                self.subTest(host=host, epoch=epoch),
                self.assertRaises(exceptions.FencedError),
            ):
                self.records.retire(host, epoch, grace=GRACE)
        self.assertEqual(before, self.state())

    def test_retired_service_is_away_until_its_grace_ends(self) -> None:
        self.retire()
        self.assert_away(True)
        self.elapse(GRACE / 2)
        self.assert_away(True)
        self.elapse(GRACE / 2 + 1)
        self.assert_away(False)

    def test_clock_that_is_set_back_does_not_prolong_it(self) -> None:
        self.retire()
        self.elapse(-GRACE / 2)
        self.assert_away(True)
        self.elapse(-3600.0)
        self.assert_away(False)

    def test_service_without_grace_is_not_away(self) -> None:
        self.assertFalse(self.service('host1').away)
        self.retire(grace=0)
        self.assert_event(kind='service_retired', reason=None)
        self.assert_away(False)

    def test_forced_down_service_is_not_away(self) -> None:
        self.retire()
        for values, away in (
            ({'disabled': True}, True),
            ({'forced_down': True}, False),
            ({'forced_down': False}, True),
        ):
            changed = self.records.set_service(
                'host1', actor='alice', **values
            )
            self.assertIs(away, changed.away, values)
            self.assertIs(away, self.service('host1').away, values)
        self.records.set_service('host1', actor='alice', forced_down=True)
        self.assert_away(False)

    def test_registration_ends_the_absence_and_finds_the_nodes(self) -> None:
        self.retire()
        self.register('host1')
        self.assert_has(self.service('host1'), away=False, fenced=False)
        self.assertEqual(['host1'] * 2, [self.owner(n) for n in (1, 2)])
        self.applied('host1', Release(uuid(1)))
