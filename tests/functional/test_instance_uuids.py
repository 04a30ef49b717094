"""Nodes reserved by instance_uuid, of a real Ironic that plays an old one."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.allocations import MARKER, Method
from tests.contract.suites import allocations
from tests.functional.support import allocation_case

ALLOCATIONS = '/v1/allocations'


class InstanceUUIDsTest(allocation_case.AllocatingCase):
    method = Method.INSTANCE_UUID
    writes_by = 'PATCH'

    def setUp(self) -> None:
        super().setUp()
        self.proxy.newest = allocation_case.BEFORE_ALLOCATIONS
        self.client = self.another()

    def reserve_as_another_client(self, uuid: str, instance_uuid: str) -> None:
        self.enrolment.set_instance(uuid, instance_uuid)

    def test_old_ironic_is_admitted_and_allocations_never_asked_for(
        self,
    ) -> None:
        self.client.check()
        self.assertIs(Method.INSTANCE_UUID, self.client.method)
        uuids = self.enrol(2)
        one = allocations.instance()
        self._create(one, uuids)
        self.client.mine('one')
        self.client.delete(one)
        asked = [path for _, path in self.proxy.asked]
        self.assertNotIn(ALLOCATIONS, ' '.join(asked))
        versions = {
            headers.get('x-openstack-ironic-api-version')
            for path, _, headers in self.proxy.requests
            if path != '/'
        }
        self.assertEqual({allocation_case.BEFORE_ALLOCATIONS}, versions)

    def test_mark_goes_with_the_reservation(self) -> None:
        [uuid] = self.enrol()
        one = allocations.instance()
        self._create(one, [uuid])
        self.assertEqual(
            {'service': 'one', 'instance_uuid': one},
            self.node(uuid)['extra'][MARKER],
        )
        self.client.delete(one)
        self.assertNotIn(MARKER, self.node(uuid)['extra'])

    def test_old_mark_claims_nothing(self) -> None:
        [uuid] = self.enrol()
        one, theirs = allocations.instance(), allocations.instance()
        self._create(one, [uuid])
        self.enrolment.set_instance(uuid, None)
        self.assertEqual([], list(self.client.mine('one')))
        self.enrolment.set_instance(uuid, theirs)
        self.assertEqual([], list(self.client.mine('one')))
        with self.assertRaises(exceptions.AllocationConflictError):
            self.client.delete(theirs)

    def test_node_that_ironic_is_working_on_is_passed_over(self) -> None:
        uuids = self.enrol(2)
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET reservation = ? WHERE uuid = ?',
                ('conductor-1', uuids[0]),
            )
        self.assertEqual(
            uuids[1], self._create(allocations.instance(), uuids).node_uuid
        )
