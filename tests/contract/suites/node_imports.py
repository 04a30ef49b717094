"""Imports of owners, in every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import EventFilter, Origin
from ironic_ownership.engine.ports import NodeImports
from tests.contract.suites import records

ACTOR = 'operator@somewhere'
REQUEST = 'req-1'
INSTANCE = records.uuid(901)


class NodeImportContract(records.RecordsContract):
    """An operator records owners; a service that runs keeps its rules."""

    def make_imports(self) -> NodeImports:
        """Return an access to the same database as this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.imports = self.make_imports()

    def imported(
        self, host: str, *numbers: int, create: bool = False
    ) -> set[str]:
        return set(
            self.imports.claim(
                host,
                [
                    records.node(n, instance_uuid=INSTANCE if n == 1 else None)
                    for n in numbers
                ],
                Origin(ACTOR, REQUEST),
                create=create,
            )
        )

    def test_nodes_and_instances_get_their_owner(self) -> None:
        self.assertEqual(
            {records.uuid(1), records.uuid(2)},
            self.imported('new', 1, 2, create=True),
        )
        found = [self.find(n) for n in (1, 2)]
        self.assertEqual(
            [('new', INSTANCE, 'imported'), ('new', None, 'imported')],
            [(r.host, r.instance_uuid, r.reason) for r in found if r],
        )
        (service,) = self.records.services()
        self.assertTrue(service.never_registered)
        events = self.records.events(EventFilter(request_id=REQUEST))
        self.assertEqual({ACTOR}, {event.actor for event in events})
        self.assertEqual(
            ['instance_opened', 'owner_changed', 'owner_changed'],
            sorted(event.kind for event in events),
        )

    def test_second_import_changes_nothing(self) -> None:
        self.imported('new', 1, 2, create=True)
        before = self.state()
        self.assertEqual(set(), self.imported('new', 1, 2))
        self.assertEqual(before, self.state())

    def test_owner_on_record_is_never_replaced(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(2))
        self.register('host2')
        self.assertEqual({records.uuid(1)}, self.imported('host2', 1, 2))
        owned = self.find(2)
        assert owned is not None
        self.assertEqual('host1', owned.host)

    def test_service_that_runs_goes_on_with_its_new_nodes(self) -> None:
        epoch = self.register('host1')
        self.imported('host1', 1)
        self.assert_applied('host1', epoch, records.claim(2))
        self.assertEqual([epoch], [s.epoch for s in self.records.services()])

    def test_service_without_a_right_to_write_gets_nothing(self) -> None:
        epoch = self.register('host1')
        self.records.retire('host1', epoch, grace=0)
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.imported('host1', 1)
        with self.assertRaises(exceptions.NotFoundError):
            self.imported('unknown', 1)
        self.assertEqual(before, self.state())
