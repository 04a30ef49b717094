"""Nodes with an instance, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites import records


class InstanceContract(records.RecordsContract):
    """Nodes with an instance: opened, closed, kept."""

    A, B = records.uuid(901), records.uuid(902)

    def test_node_first_seen_with_an_instance_is_adopted(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1, instance_uuid=self.A)
        )
        self.assertEqual(self.A, self.instance(1))
        self.assertEqual(['owner_changed', 'instance_opened'], self.kinds(1))
        opened = self.records.events(EventFilter(node_uuid=records.uuid(1)))[0]
        self.assertEqual(
            ('adopted', self.A), (opened.reason, opened.instance_uuid)
        )

    def test_instance_opens_and_closes_with_ironic(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        self.assert_applied(
            'host1', epoch, Update(records.node(1, instance_uuid=self.A))
        )
        self.assertEqual(self.A, self.instance(1))
        self.assert_applied('host1', epoch, Update(records.node(1)))
        self.assertIsNone(self.instance(1))
        self.assertEqual(
            ['owner_changed', 'instance_opened', 'instance_closed'],
            self.kinds(1),
        )

    def test_changed_instance_is_closed_and_opened(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1, instance_uuid=self.A)
        )
        self.assert_applied(
            'host1', epoch, Update(records.node(1, instance_uuid=self.B))
        )
        self.assertEqual(self.B, self.instance(1))
        self.assertEqual(
            ['instance_closed', 'instance_opened'], self.kinds(1)[2:]
        )

    def test_instance_can_come_back_after_it_was_closed(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        with_instance = Update(records.node(1, instance_uuid=self.A))
        for change in (
            with_instance,
            Update(records.node(1)),
            with_instance,
        ):
            self.assert_applied('host1', epoch, change)
        self.assertEqual(self.A, self.instance(1))

    def test_instance_can_be_seen_on_its_next_node_first(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1', one, records.claim(1, instance_uuid=self.A)
        )
        self.assert_applied(
            'host2', two, records.claim(2, instance_uuid=self.A)
        )
        self.assertEqual(self.A, self.instance(2))

    def test_node_with_an_instance_is_not_claimed_away(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1', one, records.claim(1, instance_uuid=self.A)
        )
        seen = {'seen_host': 'host1', 'seen_epoch': one}
        self.assert_refused('host2', two, records.claim(1, **seen))
        self.assert_refused(
            'host2', two, records.claim(1, instance_uuid=self.A, **seen)
        )

    def test_instance_not_yet_recorded_keeps_its_node_too(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_refused(
            'host2',
            two,
            records.claim(
                1, instance_uuid=self.A, seen_host='host1', seen_epoch=one
            ),
        )

    def test_node_with_an_instance_is_neither_released_nor_forgotten(
        self,
    ) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1, instance_uuid=self.A)
        )
        self.assert_refused('host1', epoch, Release(records.uuid(1)))
        self.assert_refused('host1', epoch, Delete(records.uuid(1)))

    def test_counts_tell_nodes_with_an_instance(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1',
            one,
            records.claim(1, instance_uuid=self.A),
            records.claim(2),
            records.claim(3),
        )
        self.assert_applied('host1', one, Release(records.uuid(3)))
        self.assert_applied('host2', two, records.claim(4))
        self.assertEqual(
            {'host1': (2, 1), 'host2': (1, 0), None: (1, 0)},
            self.records.counts(),
        )

    def test_tallies_are_by_owner_and_reason(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1',
            epoch,
            records.claim(1, instance_uuid=self.A),
            records.claim(2),
            records.claim(3),
        )
        self.assert_applied(
            'host1', epoch, Release(records.uuid(3), Reason.RELEASED)
        )
        found = [
            (one.host, one.reason, one.nodes, one.instances, one.unavailable)
            for one in self.records.tallies()
        ]
        reason = records.claim(1).reason
        self.assertCountEqual(
            [
                ('host1', reason, 2, 1, 0),
                (None, Reason.RELEASED, 1, 0, 0),
            ],
            found,
        )
