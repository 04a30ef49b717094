"""Update, release and forget, in every implementation of the records."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Delete, Release, Report, Update
from tests.contract.suites import records


class ChangeContract(records.RecordsContract):
    """Update, release, forget, and what a batch promises."""

    def test_only_the_owner_updates_releases_and_forgets(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_refused(
            'host2',
            two,
            Update(records.node(1, name='other')),
            Release(records.uuid(1)),
            Delete(records.uuid(1)),
        )

    def test_node_without_a_record_is_only_claimed(self) -> None:
        epoch = self.register('host1')
        self.assert_refused(
            'host1',
            epoch,
            Update(records.node(1)),
            Release(records.uuid(1)),
            Delete(records.uuid(1)),
        )

    def test_update_stores_what_changed_in_ironic(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        changed = records.node(
            1, name=None, driver='d2', shard='s2', conductor_group='g2'
        )
        self.assert_applied('host1', epoch, Update(changed))
        found = self.find(1)
        assert found is not None
        self.assertEqual(
            (None, 'd2', 's2', 'g2', 'host1'),
            (
                found.name,
                found.driver,
                found.shard,
                found.conductor_group,
                found.host,
            ),
        )
        self.assertEqual(['owner_changed'], self.kinds(1))

    def test_repeated_update_changes_nothing(self) -> None:
        epoch = self.register('host1')
        update = Update(records.node(1, instance_uuid=records.uuid(901)))
        self.assert_applied('host1', epoch, records.claim(1), update)
        before = self.state()
        self.assert_applied('host1', epoch, update)
        self.assertEqual(before, self.state())

    def test_released_node_keeps_its_record(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1), Release(records.uuid(1))
        )
        self.assertIsNone(self.owner(1))
        last = self.records.events(EventFilter(node_uuid=records.uuid(1)))[0]
        self.assertEqual(
            ('owner_changed', 'host1', None, 'released'),
            (last.kind, last.from_host, last.to_host, last.reason),
        )
        self.assert_refused('host1', epoch, Release(records.uuid(1)))

    def test_forgotten_node_is_gone_with_one_event(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1), Delete(records.uuid(1))
        )
        self.assertIsNone(self.find(1))
        self.assertEqual({}, self.records.counts())
        self.assertEqual([], list(self.records.compute_nodes()))
        self.assertEqual(['owner_changed', 'node_forgotten'], self.kinds(1))
        self.assert_refused('host1', epoch, Delete(records.uuid(1)))

    def test_forgotten_node_that_returns_gets_its_record_back(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1', one, records.claim(1), Delete(records.uuid(1))
        )
        self.assert_refused(
            'host2', two, records.claim(1, seen_host='host1', seen_epoch=one)
        )
        self.assert_applied('host2', two, records.claim(1, name='again'))
        found = self.find(1)
        assert found is not None
        self.assertEqual(('host2', 'again'), (found.host, found.name))
        self.assertEqual(
            ['owner_changed', 'node_forgotten', 'owner_changed'],
            self.kinds(1),
        )

    def test_changes_of_one_node_in_a_batch_follow_each_other(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1',
            epoch,
            records.claim(1),
            Update(records.node(1, instance_uuid=records.uuid(901))),
            Update(records.node(1)),
            Release(records.uuid(1)),
            records.claim(1),
            Delete(records.uuid(1)),
        )
        self.assertIsNone(self.find(1))
        self.assertEqual(6, len(self.kinds(1)))

    def test_events_come_newest_first_and_limited(self) -> None:
        epoch = self.register('host1')
        for number in (1, 2, 3):
            self.assert_applied('host1', epoch, records.claim(number))
        newest = self.records.events(limit=2)
        self.assertEqual(
            [records.uuid(3), records.uuid(2)],
            [event.node_uuid for event in newest],
        )
        self.assertGreaterEqual(newest[0].at, newest[1].at)

    def test_owner_remembers_what_placement_accepted(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        before, events = self.find(1), self.kinds(1)
        assert before is not None
        for digest in ('a' * 64, None, 'b'):
            report = Report(records.uuid(1), digest)
            self.assert_applied('host1', one, report)
            self.assertEqual(
                dataclasses.replace(before, placement_digest=digest),
                self.find(1),
            )
        self.assertEqual(events, self.kinds(1))
        for uuid in (records.uuid(1), records.uuid(9)):
            self.assert_refused('host2', two, Report(uuid, 'c'))

    def test_what_placement_accepted_outlives_the_owner(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1', one, records.claim(1), Report(records.uuid(1), 'a')
        )
        self.assert_applied('host1', one, Release(records.uuid(1)))
        self.assert_applied('host2', two, records.claim(1, name='new'))
        self.assert_applied('host2', two, Update(records.node(1)))
        self.assertEqual('a', self.digest(1))

    def test_what_placement_accepted_goes_with_the_record(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1), Report(records.uuid(1), 'a')
        )
        self.assert_applied('host1', epoch, Delete(records.uuid(1)))
        self.assert_applied('host1', epoch, records.claim(1))
        self.assertIsNone(self.digest(1))

    def digest(self, number: int) -> str | None:
        """Return what is known of Placement about a node."""
        found = self.find(number)
        assert found is not None
        return found.placement_digest
