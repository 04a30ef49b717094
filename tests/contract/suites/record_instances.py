"""Nodes with an instance, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

A, B = uuid(901), uuid(902)


class InstanceContract(RecordsContract):
    """Nodes with an instance: opened, closed, kept."""

    def setUp(self) -> None:
        super().setUp()
        self.register('host1')
        self.register('host2')

    def test_node_first_seen_with_an_instance_is_adopted(self) -> None:
        self.applied('host1', claim(1, instance_uuid=A))
        self.assertEqual(A, self.instance(1))
        self.assertEqual(['owner_changed', 'instance_opened'], self.kinds(1))
        self.assert_event(1, reason='adopted', instance_uuid=A)

    def test_instance_opens_and_closes_with_ironic(self) -> None:
        self.applied('host1', claim(1))
        for instance, kinds in (
            (A, ['instance_opened']),
            (B, ['instance_closed', 'instance_opened']),
            (None, ['instance_closed']),
            # It can come back.
            (A, ['instance_opened']),
        ):
            before = self.kinds(1)
            self.applied('host1', Update(node(1, instance_uuid=instance)))
            self.assertEqual(instance, self.instance(1))
            self.assertEqual([*before, *kinds], self.kinds(1))

    def test_instance_can_be_seen_on_its_next_node_first(self) -> None:
        self.applied('host1', claim(1, instance_uuid=A))
        self.applied('host2', claim(2, instance_uuid=A))
        self.assertEqual(A, self.instance(2))

    def test_node_with_an_instance_is_not_claimed_away(self) -> None:
        self.applied('host1', claim(1, instance_uuid=A), claim(2))
        self.refused('host2', self.take(1))
        self.refused('host2', self.take(1, instance_uuid=A))
        # It is not yet recorded.
        self.refused('host2', self.take(2, instance_uuid=A))

    def test_node_with_an_instance_is_neither_released_nor_forgotten(
        self,
    ) -> None:
        self.applied('host1', claim(1, instance_uuid=A))
        self.refused('host1', Release(uuid(1)))
        self.refused('host1', Delete(uuid(1)))

    def test_nodes_are_counted_by_owner_and_reason(self) -> None:
        claims = claim(1, instance_uuid=A), claim(2), claim(3)
        self.applied('host1', *claims)
        self.applied('host1', Release(uuid(3), Reason.RELEASED))
        self.applied('host2', claim(4))
        self.assertEqual(
            {'host1': (2, 1), 'host2': (1, 0), None: (1, 0)},
            self.records.counts(),
        )
        self.assertCountEqual(
            [
                ('host1', claims[0].reason, 2, 1, 0),
                ('host2', claims[0].reason, 1, 0, 0),
                (None, Reason.RELEASED, 1, 0, 0),
            ],
            [
                (t.host, t.reason, t.nodes, t.instances, t.unavailable)
                for t in self.records.tallies()
            ],
        )
