"""Reads of the middleware in Ironic: service and nodes in one query."""

from __future__ import annotations

from ironic_ownership_middleware.decision import NodeRow, ServiceRow
from ironic_ownership_middleware.records import Records
from tests.contract.suites.records import RecordsContract, claim, uuid


class EnforcementContract(RecordsContract):
    """On the database at ``url``."""

    url: str

    def setUp(self) -> None:
        super().setUp()
        self.reader = Records(self.url, 20)

    def test_service_and_its_nodes_are_as_they_are_now(self) -> None:
        self.assertEqual((None, ()), self.reader.read('host1', [uuid(1)], []))
        epoch = self.register('host1')
        current = ServiceRow(epoch, False, False)
        self.assertEqual((current, []), self.reader.read('host1', [], []))
        self.assertEqual(
            (current, []),
            self.reader.read('host1', [uuid(1)], ['node-1']),
        )
        self.apply('host1', epoch, claim(1), claim(2))
        one, two = (NodeRow(uuid(n), f'node-{n}', 'host1') for n in (1, 2))
        for uuids, names, found in (
            ([uuid(1)], [], [one]),
            ([], ['node-2'], [two]),
            ([uuid(1)], ['node-2', 'node-3'], [one, two]),
            ([uuid(1)], ['node-1'], [one]),
            ([uuid(3)], [], []),
            # Names are compared exactly.
            ([], ['NODE-1'], []),
            ([], [], []),
        ):
            service, nodes = self.reader.read('host1', uuids, names)
            self.assertEqual(current, service)
            self.assertCountEqual(found, nodes)

    def test_node_of_another_service_is_read_with_its_owner(self) -> None:
        epoch = self.register('host1')
        self.apply('host1', epoch, claim(1))
        other = self.register('host2')
        self.assertEqual(
            (
                ServiceRow(other, False, False),
                [NodeRow(uuid(1), 'node-1', 'host1')],
            ),
            self.reader.read('host2', [uuid(1)], []),
        )

    def test_fence_shows_in_the_next_answer(self) -> None:
        epoch = self.register('host1')
        self.reader.read('host1', [], [])
        self.records.set_service('host1', actor='test', forced_down=True)
        service, _ = self.reader.read('host1', [], [])
        assert service is not None
        self.assertTrue(service.forced_down)
        self.records.set_service('host1', actor='test', forced_down=False)
        self.register('host1')
        service, _ = self.reader.read('host1', [], [])
        assert service is not None
        self.assertGreater(service.epoch, epoch)
        self.assertFalse(service.forced_down)
