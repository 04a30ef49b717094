"""Registration, epochs and fences, as every implementation has them."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Delete, Outcome
from tests.contract.suites import records


class ServiceContract(records.RecordsContract):
    """Registration, epochs and fences."""

    def test_services_are_sorted_by_host(self) -> None:
        for host in ('host2', 'host10', 'host1'):
            self.register(host)
        hosts = [s.host for s in self.records.services()]
        self.assertEqual(['host1', 'host10', 'host2'], hosts)

    def test_one_service_is_read_by_its_name(self) -> None:
        self.register('host1')
        self.register('host10')
        self.assertEqual(self.service('host1'), self.records.service('host1'))
        self.assertIsNone(self.records.service('host2'))

    def test_service_and_node_are_read_together(self) -> None:
        epoch = self.register('host1')
        self.register('host2')
        node = records.node(1, instance_uuid='i', shard='a')
        self.assert_applied(
            'host1',
            epoch,
            records.claim(1, instance_uuid='i', shard='a'),
            records.claim(2),
        )
        for host in ('host1', 'host2'):
            self.assertEqual(
                (self.service(host), self.find(1)),
                self.records.service_and_node(host, node.uuid),
            )
        self.assertEqual(
            (self.service('host2'), None),
            self.records.service_and_node('host2', records.uuid(3)),
        )
        self.assertEqual(
            (None, None), self.records.service_and_node('host3', node.uuid)
        )

    def test_deleted_record_is_not_read_with_the_service(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        self.assert_applied('host1', epoch, Delete(records.uuid(1)))
        self.assertEqual(
            (self.service('host1'), None),
            self.records.service_and_node('host1', records.uuid(1)),
        )

    def test_each_registration_raises_the_epoch(self) -> None:
        epochs = [self.register('host1') for _ in range(3)]
        self.assertEqual(sorted(set(epochs)), epochs)
        self.assertEqual(epochs[-1], self.service('host1').epoch)

    def test_registered_service_shows_its_settings(self) -> None:
        self.register('host1')
        service = self.service('host1')
        self.assertEqual(records.SETTINGS, service.settings)
        self.assertFalse(
            service.disabled or service.forced_down or service.fenced
        )
        assert service.registered_at is not None

    def test_registration_leaves_one_event(self) -> None:
        self.register('host1')
        events = self.records.events()
        self.assertEqual(
            [('host1', 'service_registered')],
            [(e.actor, e.kind) for e in events],
        )

    def test_advertised_settings_are_stored(self) -> None:
        epoch = self.register('host1')
        changed = model.MemberSettings()
        self.records.advertise('host1', epoch, changed)
        self.assertEqual(changed, self.service('host1').settings)
        self.assertEqual(epoch, self.service('host1').epoch)

    def test_report_of_a_service_is_stored_and_replaced(self) -> None:
        epoch = self.register('host1')
        self.assertIsNone(self.service('host1').view_checksum)
        for error in ('[ironic] shard_key: bad', None):
            self.records.report(
                'host1', epoch, view_checksum='abc', config_error=error
            )
            service = self.service('host1')
            self.assertEqual('abc', service.view_checksum)
            self.assertEqual(error, service.config_error)
        self.assertEqual(epoch, self.service('host1').epoch)

    def test_fenced_service_cannot_report(self) -> None:
        old = self.register('host1')
        self.register('host1')
        with self.assertRaises(exceptions.FencedError):
            self.records.report(
                'host1', old, view_checksum='abc', config_error=None
            )
        self.assertIsNone(self.service('host1').view_checksum)

    def test_process_before_the_last_registration_cannot_write(self) -> None:
        old = self.register('host1')
        self.register('host1')
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', old, [records.claim(1)])
        with self.assertRaises(exceptions.FencedError):
            self.records.advertise('host1', old, model.MemberSettings())
        self.assertEqual(before, self.state())

    def test_epoch_of_the_future_cannot_write(self) -> None:
        epoch = self.register('host1')
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', epoch + 1, [records.claim(1)])

    def test_unregistered_host_cannot_write(self) -> None:
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', 1, [records.claim(1)])
        with self.assertRaises(exceptions.FencedError):
            self.records.advertise('host1', 1, records.SETTINGS)
        self.assertEqual(((), (), ()), self.state())

    def test_empty_batch_still_refuses_a_fenced_writer(self) -> None:
        epoch = self.register('host1')
        self.assertEqual(Outcome(), self.apply('host1', epoch))
        self.register('host1')
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', epoch, [])

    def test_fenced_owner_cannot_write_until_it_registers(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_applied(
            'host2', two, records.claim(1, seen_host='host1', seen_epoch=one)
        )
        for epoch in (one, one + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', epoch, [records.claim(2)])
        again = self.register('host1')
        self.assertGreater(again, one + 1)
        self.assertFalse(self.service('host1').fenced)
        self.assert_applied('host1', again, records.claim(2))

    def test_epoch_only_grows_in_every_case(self) -> None:
        other = self.register('host2')
        epochs = [self.register('host1')]
        self.assert_applied('host1', epochs[-1], records.claim(1))
        self.assert_applied(
            'host2',
            other,
            records.claim(1, seen_host='host1', seen_epoch=epochs[-1]),
        )
        epochs.append(self.service('host1').epoch)
        epochs.append(self.register('host1'))
        self.records.retire('host1', epochs[-1], grace=0)
        epochs.append(self.service('host1').epoch)
        epochs.append(self.register('host1'))
        self.records.fail_over('host1', incarnation='two', actor='alice')
        epochs.append(self.service('host1').epoch)
        self.records.set_service('host1', actor='alice', forced_down=True)
        epochs.append(self.service('host1').epoch)
        self.records.set_service('host1', actor='alice', forced_down=False)
        epochs.append(self.register('host1'))
        self.records.delete_service('host1', actor='alice')
        epochs.append(self.register('host1'))
        self.records.retire('host1', epochs[-1], grace=600)
        epochs.append(self.service('host1').epoch)
        self.assertEqual(sorted(set(epochs)), epochs)
