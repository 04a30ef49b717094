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
        self.addCleanup(self._end_transactions)

    def _end_transactions(self) -> None:
        # An answer comes before its transaction ends and closes the database.
        self.reader._threads.shutdown()

    def test_service_and_its_nodes_are_as_they_are_now(self) -> None:
        self.assertEqual((None, ()), self.reader.read('host1', [uuid(1)], []))
        services = {
            host: ServiceRow(self.register(host), False, False)
            for host in ('host1', 'host2')
        }
        found = self.reader.read('host1', [uuid(1)], ['node-1'])
        self.assertEqual((services['host1'], []), found)
        self.applied('host1', claim(1), claim(2))
        one, two = (NodeRow(uuid(n), f'node-{n}', 'host1') for n in (1, 2))
        for host, uuids, names, nodes in (
            ('host1', [uuid(1)], [], [one]),
            ('host1', [], ['node-2'], [two]),
            ('host1', [uuid(1)], ['node-2', 'node-3'], [one, two]),
            ('host1', [uuid(1)], ['node-1'], [one]),
            ('host1', [uuid(3)], [], []),
            # Names are compared exactly.
            ('host1', [], ['NODE-1'], []),
            ('host1', [], [], []),
            # A node of another service is read with its owner.
            ('host2', [uuid(1)], [], [one]),
        ):
            with self.subTest(host=host, uuids=uuids, names=names):
                service, found = self.reader.read(host, uuids, names)
                self.assertEqual(services[host], service)
                self.assertCountEqual(nodes, found)

    def test_fence_shows_in_the_next_answer(self) -> None:
        epoch = self.register('host1')
        for forced_down in (True, False):
            self.records.set_service(
                'host1', actor='test', forced_down=forced_down
            )
            service, _ = self.reader.read('host1', [], [])
            self.assertEqual(ServiceRow(epoch + 1, True, forced_down), service)
        again = self.register('host1')
        service, _ = self.reader.read('host1', [], [])
        self.assertEqual(ServiceRow(again, False, False), service)
