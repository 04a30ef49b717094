"""Laws of claims, for every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts import reasons
from ironic_ownership.contracts.records import Delete, Release
from tests.contract.suites.records import RecordsContract, claim, uuid


class ClaimContract(RecordsContract):
    """Claims of nodes by three services."""

    def setUp(self) -> None:
        super().setUp()
        for host in ('host1', 'host2', 'host3'):
            self.register(host)

    def test_claimed_node_shows_what_ironic_said_in_one_event(self) -> None:
        described = {
            'shard': 'Rack-1',
            'conductor_group': 'g1',
            'driver': 'ipmi',
        }
        self.applied('host1', claim(1, **described))
        self.assert_has(
            self.record(1),
            host='host1',
            name='node-1',
            instance_uuid=None,
            reason=reasons.Reason.EXCLUSIVE,
            **described,
        )
        self.assertIsNotNone(self.record(1).updated_at)
        (event,) = self.events(node_uuid=uuid(1))
        self.assert_has(
            event,
            actor='host1',
            kind='owner_changed',
            from_host=None,
            to_host='host1',
            reason='exclusive',
        )

    def test_refused_claim_does_not_stop_the_others(self) -> None:
        self.applied('host1', claim(2))
        self.refused('host2', claim(2))
        claims = [claim(number) for number in (1, 2, 3)]
        outcome = self.apply('host2', self.epochs['host2'], *claims)
        self.assertEqual([claims[0], claims[2]], list(outcome.applied))
        self.assertEqual('host1', self.owner(2))

    def test_claims_from_an_owner_fence_it_once(self) -> None:
        self.applied('host1', *map(claim, (1, 2, 3)))
        self.applied('host2', self.take(1), self.take(2))
        epoch = self.epochs['host1']
        fenced = {'fenced': True, 'epoch': epoch + 1}
        self.assert_has(self.service('host1'), **fenced)
        (event,) = self.events('service_fenced')
        self.assert_has(event, actor='host2', from_host='host1')
        changed = self.events('owner_changed', actor='host2')
        self.assertEqual(['host1'] * 2, [event.from_host for event in changed])
        # Another one that saw it alive takes more, and fences it no more.
        self.applied('host3', self.take(3))
        self.assert_has(self.service('host1'), **fenced)
        self.assert_fenced('host1', epoch, epoch + 1)
        self.assertEqual(
            ['host2', 'host2', 'host3'], [self.owner(n) for n in (1, 2, 3)]
        )

    def test_claim_from_an_owner_that_came_back_is_refused(self) -> None:
        self.applied('host1', claim(1))
        seen = self.take(1)
        self.register('host1')
        self.refused('host2', seen)

    def test_claim_of_what_was_not_so_is_refused_and_fences_no_service(
        self,
    ) -> None:
        self.applied('host1', claim(1), claim(3))
        self.applied('host1', Delete(uuid(3)))
        for seen in (
            self.take(1, 'host3'),
            claim(1, seen_host='host1'),
            self.take(2),
            claim(2, seen_host='host2'),
            self.take(3),
        ):
            with self.subTest(seen=seen):
                self.refused('host2', seen)

    def test_claim_of_an_own_node_changes_no_owner(self) -> None:
        self.applied('host1', claim(1))
        again = claim(1, seen_host='host1', reason=reasons.Reason.ASSIGNED)
        self.applied('host1', again)
        self.assertEqual(reasons.Reason.ASSIGNED, self.record(1).reason)
        self.assertEqual(['owner_changed'], self.kinds(1))
        self.assertFalse(self.service('host1').fenced)

    def test_released_node_can_be_claimed_by_another(self) -> None:
        self.applied('host1', claim(1), Release(uuid(1)))
        self.applied('host2', claim(1))
        self.assertEqual('host2', self.owner(1))
        self.assertFalse(self.service('host1').fenced)

    def test_many_changes_are_one_batch(self) -> None:
        numbers = range(1200)
        self.applied('host1', *map(claim, numbers))
        self.assertEqual({'host1': (1200, 0)}, self.records.counts())
        found = self.records.compute_nodes_by_uuid([*map(uuid, numbers)])
        self.assertEqual(1200, len(found))
