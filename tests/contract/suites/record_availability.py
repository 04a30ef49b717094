"""Availability on record, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.reasons import Unavailable
from ironic_ownership.contracts.records import Claim, Release, Update
from tests.contract.suites import records

_CHANGED = 'availability_changed'


def _evaluation(
    code: Unavailable | None, detail: str = ''
) -> reasons.Evaluation:
    return reasons.Evaluation(code, detail)


class AvailabilityContract(records.RecordsContract):
    """Evaluations come with claims and updates; each change is one event."""

    def setUp(self) -> None:
        super().setUp()
        self.epoch = self.register('host1')

    def update(
        self, code: Unavailable | None, detail: str = '', **values: object
    ) -> Update:
        return Update(records.node(1, **values), _evaluation(code, detail))

    def claimed(self, code: Unavailable | None = None) -> None:
        self.assert_applied(
            'host1',
            self.epoch,
            Claim(
                records.node(1),
                records.claim(1).reason,
                availability=_evaluation(code),
            ),
        )

    def record(self) -> model.ComputeNode:
        found = self.find(1)
        assert found is not None
        return found

    def test_first_evaluation_is_on_record_without_an_event(self) -> None:
        self.claimed(Unavailable.MAINTENANCE)
        self.assertEqual('maintenance', self.record().unavailable)
        self.assertIsNotNone(self.record().unavailable_since)
        self.assertEqual(['owner_changed'], self.kinds(1))

    def test_node_is_available_until_it_is_evaluated(self) -> None:
        self.assert_applied('host1', self.epoch, records.claim(1))
        self.assertIsNone(self.record().unavailable)
        self.assertIsNone(self.record().unavailable_since)

    def test_each_change_is_one_event_with_its_reason(self) -> None:
        self.claimed()
        for code, detail in (
            (Unavailable.OUT_OF_SERVICE, 'driver x, no conductor has it'),
            (Unavailable.OUT_OF_SERVICE, 'driver x, dead: conductor-1'),
            (Unavailable.MAINTENANCE, ''),
            (None, ''),
            (None, ''),
        ):
            self.assert_applied('host1', self.epoch, self.update(code, detail))
        events = self.records.events(EventFilter(node_uuid=records.uuid(1)))[
            ::-1
        ]
        self.assertEqual(
            [
                'available -> out_of_service: driver x, no conductor has it',
                'out_of_service -> maintenance',
                'maintenance -> available',
            ],
            [e.reason for e in events if e.kind == _CHANGED],
        )
        self.assertEqual('host1', events[-1].actor)
        self.assertIsNone(self.record().unavailable)
        self.assertIsNone(self.record().unavailable_since)

    def test_evaluation_that_is_on_record_already_changes_nothing(
        self,
    ) -> None:
        self.claimed(Unavailable.OUT_OF_SERVICE)
        before = self.state()
        self.assert_applied(
            'host1', self.epoch, self.update(Unavailable.OUT_OF_SERVICE)
        )
        self.assertEqual(before, self.state())

    def test_change_without_a_evaluation_keeps_the_last_one(self) -> None:
        self.claimed(Unavailable.MAINTENANCE)
        since = self.record().unavailable_since
        self.assert_applied(
            'host1',
            self.epoch,
            Update(records.node(1, name='renamed')),
        )
        self.assertEqual(
            ('renamed', 'maintenance', since),
            (
                self.record().name,
                self.record().unavailable,
                self.record().unavailable_since,
            ),
        )

    def test_evaluation_and_attributes_change_together(self) -> None:
        self.claimed()
        self.assert_applied(
            'host1',
            self.epoch,
            self.update(Unavailable.RETIRED, name='renamed'),
        )
        self.assertEqual(
            ('renamed', 'retired'),
            (self.record().name, self.record().unavailable),
        )

    def test_instance_that_comes_and_goes_has_its_own_events_only(
        self,
    ) -> None:
        self.claimed()
        self.assert_applied(
            'host1',
            self.epoch,
            self.update(Unavailable.RESERVED, instance_uuid=records.uuid(901)),
        )
        self.assert_applied(
            'host1',
            self.epoch,
            self.update(Unavailable.IN_USE, instance_uuid=records.uuid(901)),
        )
        self.assertEqual('in_use', self.record().unavailable)
        self.assert_applied('host1', self.epoch, self.update(None))
        self.assertEqual(
            ['owner_changed', 'instance_opened', 'instance_closed'],
            self.kinds(1),
        )

    def test_release_keeps_the_evaluation_for_the_next_owner(self) -> None:
        self.claimed(Unavailable.OUT_OF_SERVICE)
        self.assert_applied('host1', self.epoch, Release(records.uuid(1)))
        self.assertEqual('out_of_service', self.record().unavailable)
        two = self.register('host2')
        self.assert_applied(
            'host2',
            two,
            Claim(
                records.node(1),
                records.claim(1).reason,
                availability=_evaluation(Unavailable.OUT_OF_SERVICE),
            ),
        )
        self.assertNotIn(_CHANGED, self.kinds(1))

    def test_claim_with_another_evaluation_than_the_last_leaves_an_event(
        self,
    ) -> None:
        self.claimed(Unavailable.OUT_OF_SERVICE)
        self.assert_applied('host1', self.epoch, Release(records.uuid(1)))
        self.claimed()
        self.assertIn(_CHANGED, self.kinds(1))

    def test_only_the_owner_evaluates(self) -> None:
        self.claimed()
        two = self.register('host2')
        self.assert_refused(
            'host2', two, self.update(Unavailable.OUT_OF_SERVICE)
        )

    def test_long_detail_is_cut_and_not_refused(self) -> None:
        self.claimed()
        self.assert_applied(
            'host1',
            self.epoch,
            self.update(Unavailable.OUT_OF_SERVICE, 'conductor, ' * 100),
        )
        event = self.records.events(EventFilter(node_uuid=records.uuid(1)))[0]
        self.assertIn('available -> out_of_service', str(event.reason))

    def test_queries_tell_it_alike(self) -> None:
        self.claimed(Unavailable.CLEANING)
        scope = model.Scope()
        for found in (
            self.records.compute_nodes(),
            [*self.records.in_reach('host1', scope)],
            self.records.compute_nodes_by_uuid([records.uuid(1)]),
        ):
            self.assertEqual(['cleaning'], [one.unavailable for one in found])
