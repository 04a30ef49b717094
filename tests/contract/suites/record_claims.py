"""Laws of claims, for every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts import reasons
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Release
from tests.contract.suites import records


class ClaimContract(records.RecordsContract):
    """Claims of nodes."""

    def test_claimed_node_shows_what_ironic_said(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1',
            epoch,
            records.claim(
                1, shard='Rack-1', conductor_group='g1', driver='ipmi'
            ),
        )
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            ('host1', 'node-1', 'ipmi', 'Rack-1', 'g1', None),
            (
                found.host,
                found.name,
                found.driver,
                found.shard,
                found.conductor_group,
                found.instance_uuid,
            ),
        )
        self.assertEqual(reasons.Reason.EXCLUSIVE, found.reason)
        assert found.updated_at is not None

    def test_claim_leaves_one_event_with_all_of_it(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        (event,) = self.records.events(EventFilter(node_uuid=records.uuid(1)))
        self.assertEqual(
            ('host1', 'owner_changed', None, 'host1', 'exclusive'),
            (
                event.actor,
                event.kind,
                event.from_host,
                event.to_host,
                event.reason,
            ),
        )

    def test_second_claim_of_a_free_node_is_refused(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_refused('host2', two, records.claim(1))
        self.assertEqual('host1', self.owner(1))

    def test_refused_claim_does_not_stop_the_others(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(2))
        outcome = self.apply(
            'host2', two, records.claim(1), records.claim(2), records.claim(3)
        )
        self.assertEqual(
            [records.uuid(1), records.uuid(3)],
            [c.uuid for c in outcome.applied],
        )
        self.assertEqual([records.uuid(2)], [c.uuid for c in outcome.refused])

    def test_claim_from_an_owner_fences_it_once(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1), records.claim(2))
        self.assert_applied(
            'host2',
            two,
            *(
                records.claim(n, seen_host='host1', seen_epoch=one)
                for n in (1, 2)
            ),
        )
        fenced = self.service('host1')
        self.assertEqual((True, one + 1), (fenced.fenced, fenced.epoch))
        self.assertEqual('host2', self.owner(1))
        for kind, number in (('service_fenced', 1), ('owner_changed', 2)):
            events = [e for e in self.records.events() if e.kind == kind]
            self.assertEqual(
                [('host2', 'host1')] * number,
                [(e.actor, e.from_host) for e in events if e.from_host],
            )

    def test_claim_from_an_owner_that_is_fenced_already(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        three = self.register('host3')
        self.assert_applied('host1', one, records.claim(1), records.claim(2))
        for host, epoch, number in (('host2', two, 1), ('host3', three, 2)):
            self.assert_applied(
                host,
                epoch,
                records.claim(number, seen_host='host1', seen_epoch=one),
            )
        self.assertEqual(one + 1, self.service('host1').epoch)
        self.assertEqual('host3', self.owner(2))

    def test_claim_from_an_owner_that_came_back_is_refused(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.register('host1')
        self.assert_refused(
            'host2', two, records.claim(1, seen_host='host1', seen_epoch=one)
        )

    def test_claim_that_came_too_late_fences_no_service(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.register('host3')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_refused(
            'host2', two, records.claim(1, seen_host='host3', seen_epoch=1)
        )
        self.assertFalse(self.service('host3').fenced)

    def test_claim_from_an_owner_without_its_epoch_is_refused(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_refused('host2', two, records.claim(1, seen_host='host1'))

    def test_claim_of_a_missing_record_as_owned_is_refused(self) -> None:
        one = self.register('host1')
        self.register('host2')
        self.assert_refused(
            'host1', one, records.claim(1, seen_host='host2', seen_epoch=1)
        )
        self.assert_refused('host1', one, records.claim(1, seen_host='host1'))

    def test_claim_of_an_own_node_changes_no_owner(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        self.assert_applied(
            'host1',
            epoch,
            records.claim(
                1, seen_host='host1', reason=reasons.Reason.ASSIGNED
            ),
        )
        self.assertEqual(['owner_changed'], self.kinds(1))
        self.assertFalse(self.service('host1').fenced)

    def test_released_node_can_be_claimed_by_another(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1', one, records.claim(1), Release(records.uuid(1))
        )
        self.assert_applied('host2', two, records.claim(1))
        self.assertEqual('host2', self.owner(1))
        self.assertFalse(self.service('host1').fenced)

    def test_many_changes_are_one_batch(self) -> None:
        epoch = self.register('host1')
        numbers = range(1200)
        self.assert_applied('host1', epoch, *map(records.claim, numbers))
        self.assertEqual({'host1': (1200, 0)}, self.records.counts())
        found = self.records.compute_nodes_by_uuid(
            list(map(records.uuid, numbers))
        )
        self.assertEqual(1200, len(found))
