"""Registration, epochs and fences, as every implementation has them."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Delete, Outcome, Release
from tests.contract.suites.records import (
    SETTINGS,
    RecordsContract,
    claim,
    uuid,
)


class ServiceContract(RecordsContract):
    """Registration, epochs and fences."""

    def test_services_are_sorted_and_read_by_their_names(self) -> None:
        hosts = ['host1', 'host10', 'host2']
        for host in (hosts[2], hosts[1], hosts[0]):
            self.register(host)
        found = self.records.services()
        self.assertEqual(hosts, [service.host for service in found])
        for service in found:
            self.assertEqual(service, self.records.service(service.host))
        self.assertIsNone(self.records.service('host3'))

    def test_service_and_node_are_read_together(self) -> None:
        self.register('host1')
        self.register('host2')
        self.applied(
            'host1', claim(1, instance_uuid='i', shard='a'), claim(2), claim(3)
        )
        self.applied('host1', Release(uuid(2)), Delete(uuid(3)))
        for host in ('host1', 'host2'):
            service = self.service(host)
            for number in (1, 2, 3, 4):
                found = self.records.service_and_node(host, uuid(number))
                self.assertEqual((service, self.find(number)), found)
        self.assertTrue(self.find(1) and self.find(2))
        self.assertEqual(
            (None, None), self.records.service_and_node('host3', uuid(1))
        )

    def test_registration_shows_its_settings_and_leaves_one_event(
        self,
    ) -> None:
        epoch = self.register('host1')
        service = self.service('host1')
        self.assert_has(
            service,
            epoch=epoch,
            settings=SETTINGS,
            disabled=False,
            forced_down=False,
            fenced=False,
            incarnation=None,
        )
        self.assertIsNotNone(service.registered_at)
        (event,) = self.records.events()
        self.assert_has(event, actor='host1', kind='service_registered')

    def test_settings_and_status_of_a_service_are_replaced(self) -> None:
        epoch = self.register('host1')
        changed = model.MemberSettings()
        self.records.advertise('host1', epoch, changed)
        self.assert_has(
            self.service('host1'), settings=changed, view_checksum=None
        )
        for error in ('[ironic] shard_key: bad', None):
            status = {'view_checksum': 'abc', 'config_error': error}
            self.records.report('host1', epoch, **status)
            self.assert_has(self.service('host1'), epoch=epoch, **status)

    def test_no_epoch_but_the_last_one_writes(self) -> None:
        self.assert_fenced('host1', 0, 1)
        old = self.register('host1')
        current = self.register('host1')
        self.assert_fenced('host1', old, current + 1)
        self.assertEqual(Outcome(), self.apply('host1', current))

    def test_epoch_only_grows_in_every_case(self) -> None:
        self.register('host2')
        epochs = [self.register('host1') for _ in range(3)]
        self.applied('host1', claim(1))
        self.applied('host2', self.take(1))
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
