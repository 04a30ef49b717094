"""Nodes reserved by allocations of a real Ironic."""

from __future__ import annotations

import time
from typing import Any

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.reservations import AllocationState
from tests.contract.suites import allocations
from tests.functional.support import allocation_case

ALLOCATIONS = '/v1/allocations'


class AllocationsTest(allocation_case.AllocatingCase):
    def reserve_as_another_client(self, uuid: str, instance_uuid: str) -> None:
        self.server.request(
            'POST',
            '/allocations',
            json={
                'uuid': instance_uuid,
                'resource_class': allocations.GOLD,
                'candidate_nodes': [uuid],
            },
        )
        self.settle(instance_uuid)

    def settle(self, instance_uuid: str) -> dict[str, Any]:
        while True:
            found = self.server.request('GET', f'/allocations/{instance_uuid}')
            if found['state'] != 'allocating':
                return found
            time.sleep(0.05)

    def test_deletion_answered_by_503_can_be_repeated(self) -> None:
        uuids = self.enrol(2)
        for late, uuid in zip((False, True), uuids, strict=True):
            one = allocations.instance()
            self._create(one, [uuid])
            self.proxy.late = late
            self.fail('DELETE', allocation_case.UNAVAILABLE)
            with self.assertRaises(exceptions.IronicUnavailableError):
                self.client.delete(one)
            self.assertIs(not late, self.client.delete(one))
            self.assertIsNone(self.instance_of(uuid))

    def test_request_sent_twice_by_a_lost_connection_is_one_allocation(
        self,
    ) -> None:
        uuids = self.enrol(2)
        one = allocations.instance()
        self.proxy.late = True
        self.fail('POST', allocation_case.BROKEN, None)
        made = self._create(one, uuids)
        self.assertIs(AllocationState.ACTIVE, made.state)
        # More often if Ironic's database was locked.
        self.assertLess(1, self.proxy.asked.count(('POST', ALLOCATIONS)))
        self.assertEqual([made], list(self.client.mine('one')))

    def test_node_that_is_undeployed_has_no_allocation_any_more(self) -> None:
        [uuid] = self.enrol()
        one = allocations.instance()
        self._create(one, [uuid])
        # As Ironic does at the end of an undeployment, and Nova did before.
        self.enrolment.set_instance(uuid, None)
        self.assertIsNone(self.client.get(one))
        self.assertIs(False, self.client.delete(one))

    def test_instance_on_a_node_without_an_allocation_is_a_conflict(
        self,
    ) -> None:
        uuids = self.enrol(2)
        one = allocations.instance()
        self.enrolment.set_instance(uuids[0], one)
        with self.assertRaises(exceptions.AllocationConflictError):
            self._create(one, uuids[1:])
        self.assertIsNone(self.instance_of(uuids[1]))
        self.assertIsNone(self.client.get(one))

    def test_unknown_trait_is_an_error_that_names_it(self) -> None:
        [uuid] = self.enrol()
        with self.assertRaises(exceptions.IronicError) as caught:
            self._create(allocations.instance(), [uuid], traits=['lower'])
        self.assertIn('lower', str(caught.exception))
        self.assertNotIn('endpoint_override', str(caught.exception))
