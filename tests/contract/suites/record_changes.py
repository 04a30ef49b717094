"""Update, release and forget, in every implementation of the records."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts.records import Delete, Release, Report, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

CHANGES = Update(node(1, name='other')), Release(uuid(1)), Delete(uuid(1))


class ChangeContract(RecordsContract):
    """Update, release, forget, and what a batch promises."""

    def setUp(self) -> None:
        super().setUp()
        self.register('host1')
        self.register('host2')

    def test_only_the_owner_updates_releases_and_forgets(self) -> None:
        self.refused('host1', *CHANGES)
        self.applied('host1', claim(1))
        self.refused('host2', *CHANGES)

    def test_update_stores_what_changed_in_ironic_once(self) -> None:
        described = {
            'name': None,
            'driver': 'd2',
            'shard': 's2',
            'conductor_group': 'g2',
            'instance_uuid': uuid(901),
        }
        update = Update(node(1, **described))
        self.applied('host1', claim(1), update)
        self.assert_has(self.record(1), host='host1', **described)
        self.assertEqual(['owner_changed', 'instance_opened'], self.kinds(1))
        before = self.state()
        self.applied('host1', update)
        self.assertEqual(before, self.state())

    def test_released_node_keeps_its_record(self) -> None:
        self.applied('host1', claim(1), Release(uuid(1)))
        self.assertIsNone(self.owner(1))
        self.assert_event(
            1,
            kind='owner_changed',
            from_host='host1',
            to_host=None,
            reason='released',
        )
        self.refused('host1', Release(uuid(1)))

    def test_forgotten_node_that_returns_gets_its_record_back(self) -> None:
        self.applied('host1', claim(1), Delete(uuid(1)))
        self.assertIsNone(self.find(1))
        self.assertEqual({}, self.records.counts())
        self.assertEqual([], list(self.records.compute_nodes()))
        self.refused('host1', Delete(uuid(1)))
        self.applied('host2', claim(1, name='again'))
        self.assert_has(self.record(1), host='host2', name='again')
        self.assertEqual(
            ['owner_changed', 'node_forgotten', 'owner_changed'],
            self.kinds(1),
        )

    def test_changes_of_one_node_in_a_batch_follow_each_other(self) -> None:
        self.applied(
            'host1',
            claim(1),
            Update(node(1, instance_uuid=uuid(901))),
            Update(node(1)),
            Release(uuid(1)),
            claim(1),
            Delete(uuid(1)),
        )
        self.assertIsNone(self.find(1))
        self.assertEqual(6, len(self.kinds(1)))

    def test_owner_remembers_what_placement_accepted(self) -> None:
        self.applied('host1', claim(1))
        before, events = self.record(1), self.kinds(1)
        for digest in ('a' * 64, None, 'b'):
            self.applied('host1', Report(uuid(1), digest))
            expected = dataclasses.replace(before, placement_digest=digest)
            self.assertEqual(expected, self.find(1))
        self.assertEqual(events, self.kinds(1))
        self.refused('host2', Report(uuid(1), 'c'))
        self.refused('host2', Report(uuid(9), 'c'))

    def test_what_placement_accepted_goes_with_the_record_only(self) -> None:
        self.applied('host1', claim(1), Report(uuid(1), 'a'))
        self.applied('host1', Release(uuid(1)))
        self.applied('host2', claim(1, name='new'))
        self.applied('host2', Update(node(1)))
        self.assertEqual('a', self.record(1).placement_digest)
        self.applied('host2', Delete(uuid(1)))
        self.applied('host2', claim(1))
        self.assertIsNone(self.record(1).placement_digest)
