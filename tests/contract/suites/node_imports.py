"""Imports of owners, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.records import Release, SeenOwner
from tests.contract.suites.records import RecordsContract, claim, node, uuid

ORIGIN = Origin('operator@somewhere', 'req-1')
INSTANCE = uuid(901)


class NodeImportContract(RecordsContract):
    """An operator records owners; a service that runs keeps its rules."""

    def imported(self, host: str, create: bool = False) -> set[str]:
        """Import node 1, which has an instance, and node 2."""
        nodes = [node(1, instance_uuid=INSTANCE), node(2)]
        refused = self.records.import_nodes(host, nodes, ORIGIN, create=create)
        return {one.uuid for one in nodes} - refused.keys()

    def test_nodes_and_instances_get_their_owner(self) -> None:
        self.assertEqual({uuid(1), uuid(2)}, self.imported('new', create=True))
        for number, instance in ((1, INSTANCE), (2, None)):
            self.assert_has(
                self.record(number), host='new', instance_uuid=instance
            )
            self.assertEqual('imported', self.record(number).reason.value)
        (service,) = self.records.services()
        self.assertTrue(service.never_registered)
        events = self.events(actor=ORIGIN.actor, request_id=ORIGIN.request_id)
        self.assertEqual(
            ['instance_opened', 'owner_changed', 'owner_changed'],
            sorted(event.kind for event in events),
        )
        before = self.state()
        self.assertEqual(set(), self.imported('new'))
        self.assertEqual(before, self.state())
        # Perhaps a program serves it that does not register.
        self.register('host1')
        self.refused('host1', claim(2, seen_host='new', seen_epoch=0))

    def test_owner_on_record_is_never_replaced(self) -> None:
        self.register('host1')
        self.applied('host1', claim(2))
        epoch = self.register('host2')
        self.assertEqual({uuid(1)}, self.imported('host2'))
        self.assertEqual('host1', self.owner(2))
        # The service that runs goes on with its new node.
        self.applied('host2', claim(3))
        self.assertEqual(epoch, self.service('host2').epoch)

    def test_deletion_of_a_node_that_ironic_has_again_ends(self) -> None:
        self.register('host1')
        self.applied('host1', claim(2), Release(uuid(2)))
        unowned = SeenOwner(None, None)
        self.assertIsNone(self.records.begin_deletion(uuid(2), unowned))
        self.assertEqual({uuid(1), uuid(2)}, self.imported('host1'))
        self.assertIs(False, self.records.remove(uuid(2), unowned, ORIGIN))

    def test_service_without_a_right_to_write_gets_nothing(self) -> None:
        epoch = self.register('host1')
        self.records.retire('host1', epoch, grace=0)
        before = self.state()
        for host, error in (
            ('host1', exceptions.FencedError),
            ('unknown', exceptions.NotFoundError),
        ):
            self.assertRaises(error, self.imported, host)
        self.assertEqual(before, self.state())
