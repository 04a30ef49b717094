"""The fake reservations keep the laws of the real ones."""

from __future__ import annotations

import dataclasses
import unittest
import uuid as uuid_

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reservations import Allocation, AllocationState
from tests.contract.suites import allocations, fake_allocations


class FakeAllocationsTest(allocations.AllocationsContract, unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.fake = fake_allocations.FakeAllocations()
        self.client = self.fake

    def another(self) -> fake_allocations.FakeAllocations:
        return fake_allocations.FakeAllocations(
            self.fake.nodes, self.fake.made
        )

    def enrol(self, count=1, *, resource_class=allocations.GOLD, traits=()):
        uuids = [str(uuid_.uuid4()) for _ in range(count)]
        for uuid in uuids:
            self.fake.nodes[uuid] = model.Node(
                uuid,
                provision_state='available',
                resource_class=resource_class,
                traits=tuple(traits),
            )
        return uuids

    def change(self, uuid: str, **values) -> None:
        self.fake.nodes[uuid] = dataclasses.replace(
            self.fake.nodes[uuid], **values
        )

    def remove(self, uuid: str) -> None:
        del self.fake.nodes[uuid]

    def instance_of(self, uuid: str) -> str | None:
        return self.fake.nodes[uuid].instance_uuid

    def reserve_as_another_client(self, uuid: str, instance_uuid: str) -> None:
        self.change(uuid, instance_uuid=instance_uuid)
        self.fake.made[instance_uuid] = Allocation(
            instance_uuid, AllocationState.ACTIVE, node_uuid=uuid
        )

    def set_maintenance(self, uuid: str) -> None:
        self.change(uuid, maintenance=True)

    def deploy(self, uuid: str) -> None:
        self.change(uuid, provision_state='active')

    def make_unavailable(self) -> None:
        self.fake.fail_with = exceptions.IronicUnavailableError('down')

    def test_one_method_can_fail_alone_and_calls_are_kept(self) -> None:
        self.fake.failures['mine'] = exceptions.IronicError('odd')
        self.assertIsNone(self.fake.get('a'))
        self.assertRaises(exceptions.IronicError, self.fake.mine, 'one')
        self.assertEqual([('get', 'a'), ('mine', 'one')], self.fake.calls)
