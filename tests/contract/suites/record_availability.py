"""Availability on record, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.reasons import Evaluation, Unavailable
from ironic_ownership.contracts.records import Release, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

_CHANGED = 'availability_changed'


class AvailabilityContract(RecordsContract):
    """Evaluations come with claims and updates; each change is one event."""

    def setUp(self) -> None:
        super().setUp()
        self.register('host1')

    def update(
        self, code: Unavailable | None, detail: str = '', **values: object
    ) -> None:
        evaluation = Evaluation(code, detail)
        self.applied('host1', Update(node(1, **values), evaluation))

    def claimed(
        self, code: Unavailable | None = None, host: str = 'host1'
    ) -> None:
        self.applied(host, claim(1, availability=Evaluation(code, '')))

    def test_first_evaluation_is_on_record_without_an_event(self) -> None:
        self.applied('host1', claim(2))
        self.assert_has(
            self.record(2), unavailable=None, unavailable_since=None
        )
        self.claimed(Unavailable.MAINTENANCE)
        self.assertEqual('maintenance', self.record(1).unavailable)
        self.assertIsNotNone(self.record(1).unavailable_since)
        self.assertEqual(['owner_changed'], self.kinds(1))

    def test_each_change_is_one_event_with_its_reason(self) -> None:
        self.claimed()
        for code, detail, is_new in (
            (Unavailable.OUT_OF_SERVICE, 'driver x, no conductor', True),
            (Unavailable.OUT_OF_SERVICE, 'driver x, dead: c1', False),
            (Unavailable.MAINTENANCE, '', True),
            (None, '', True),
            (None, '', False),
        ):
            before = self.state()
            self.update(code, detail)
            self.assertIs(is_new, before != self.state(), (code, detail))
        self.assertEqual(
            [
                'maintenance -> available',
                'out_of_service -> maintenance',
                'available -> out_of_service: driver x, no conductor',
            ],
            [e.reason for e in self.events(_CHANGED, actor='host1')],
        )
        self.assert_has(
            self.record(1), unavailable=None, unavailable_since=None
        )

    def test_change_without_a_evaluation_keeps_the_last_one(self) -> None:
        self.claimed(Unavailable.MAINTENANCE)
        since = self.record(1).unavailable_since
        self.applied('host1', Update(node(1, name='renamed')))
        self.assert_has(
            self.record(1),
            name='renamed',
            unavailable='maintenance',
            unavailable_since=since,
        )
        self.update(Unavailable.RETIRED, name='again')
        self.assert_has(self.record(1), name='again', unavailable='retired')

    def test_instance_that_comes_and_goes_has_its_own_events_only(
        self,
    ) -> None:
        self.claimed()
        self.update(Unavailable.RESERVED, instance_uuid=uuid(901))
        self.update(Unavailable.IN_USE, instance_uuid=uuid(901))
        self.assertEqual('in_use', self.record(1).unavailable)
        self.update(None)
        self.assertEqual(
            ['owner_changed', 'instance_opened', 'instance_closed'],
            self.kinds(1),
        )

    def test_release_keeps_the_evaluation_for_the_next_owner(self) -> None:
        self.claimed(Unavailable.OUT_OF_SERVICE)
        self.applied('host1', Release(uuid(1)))
        self.assertEqual('out_of_service', self.record(1).unavailable)
        self.register('host2')
        self.claimed(Unavailable.OUT_OF_SERVICE, 'host2')
        self.assertEqual([], self.events(_CHANGED))
        self.applied('host2', Release(uuid(1)))
        self.claimed()
        self.assertEqual(1, len(self.events(_CHANGED)))

    def test_long_detail_is_cut_and_not_refused(self) -> None:
        self.claimed()
        self.update(Unavailable.OUT_OF_SERVICE, 'conductor, ' * 100)
        (event,) = self.events(_CHANGED)
        self.assertIn('available -> out_of_service', str(event.reason))
