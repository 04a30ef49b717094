"""Laws of operators' changes to services, for every implementation."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites import records


class OperatorContract(records.RecordsContract):
    """Disabling, forcing down and deleting services."""

    def set_service(self, host: str, **values: object) -> model.Service:
        """Change a service as an operator does, and check the answer."""
        found = self.records.set_service(
            host,
            actor='an operator',
            **values,  # type: ignore[arg-type]
        )
        self.assertEqual(found, self.service(host))
        return found

    def last_event(self) -> tuple[str, str, str | None]:
        """Return actor, kind and service of the last event."""
        (event,) = self.records.events(limit=1)
        return event.actor, event.kind, event.from_host

    def test_unknown_service_is_not_created(self) -> None:
        with self.assertRaises(exceptions.NotFoundError):
            self.records.set_service('host1', actor='x', disabled=True)
        with self.assertRaises(exceptions.NotFoundError):
            self.records.delete_service('host1', actor='x')
        self.assertEqual(((), (), ()), self.state())

    def test_disabled_service_keeps_its_epoch_and_may_write(self) -> None:
        epoch = self.register('host1')
        found = self.set_service(
            'host1', disabled=True, disabled_reason='new fans'
        )
        self.assertEqual(
            (True, 'new fans', epoch, False),
            (
                found.disabled,
                found.disabled_reason,
                found.epoch,
                found.fenced,
            ),
        )
        self.assertEqual(
            ('an operator', 'service_changed', 'host1'), self.last_event()
        )
        self.assert_applied('host1', epoch, records.claim(1))

    def test_enabled_service_has_no_reason_to_be_disabled(self) -> None:
        self.register('host1')
        self.set_service('host1', disabled=True, disabled_reason='new fans')
        found = self.set_service('host1', disabled=False)
        self.assertEqual(
            (False, None), (found.disabled, found.disabled_reason)
        )

    def test_reason_stays_until_another_is_given(self) -> None:
        self.register('host1')
        self.set_service('host1', disabled=True, disabled_reason='one')
        self.set_service('host1', disabled=True, forced_down=True)
        self.assertEqual('one', self.service('host1').disabled_reason)
        self.set_service('host1', disabled_reason='two')
        self.assertEqual('two', self.service('host1').disabled_reason)

    def test_several_settings_leave_one_event(self) -> None:
        self.register('host1')
        before = len(self.records.events())
        self.set_service(
            'host1', disabled=True, disabled_reason='x' * 255, forced_down=True
        )
        self.assertEqual(before + 1, len(self.records.events()))
        self.assertEqual(
            ('an operator', 'service_forced_down', 'host1'), self.last_event()
        )

    def test_what_is_so_already_changes_nothing(self) -> None:
        self.register('host1')
        wanted = {
            'disabled': True,
            'disabled_reason': 'why',
            'forced_down': True,
        }
        self.set_service('host1', **wanted)
        before = self.state()
        self.set_service('host1', **wanted)
        self.set_service('host1')
        self.assertEqual(before, self.state())

    def test_service_that_is_forced_down_stops_writing_at_once(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1))
        found = self.set_service('host1', forced_down=True)
        self.assertEqual(
            (True, True, epoch + 1),
            (found.forced_down, found.fenced, found.epoch),
        )
        for its in (epoch, epoch + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', its, [records.claim(2)])
        self.assertIsNone(self.find(2))

    def test_forced_down_service_cannot_register(self) -> None:
        self.register('host1')
        self.set_service('host1', forced_down=True)
        before = self.state()
        with self.assertRaises(exceptions.FencedError) as caught:
            self.register('host1')
        self.assertIn('host1 is forced down', str(caught.exception))
        self.assertEqual(before, self.state())

    def test_taking_it_back_leaves_the_fence_until_it_registers(self) -> None:
        old = self.register('host1')
        self.set_service('host1', forced_down=True)
        found = self.set_service('host1', forced_down=False)
        self.assertEqual((False, True), (found.forced_down, found.fenced))
        for epoch in (old, found.epoch):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', epoch, [records.claim(1)])
        again = self.register('host1')
        self.assert_applied('host1', again, records.claim(1))

    def test_other_services_do_not_notice(self) -> None:
        self.register('host1')
        two = self.register('host2')
        before = self.service('host2')
        self.set_service('host1', disabled=True, forced_down=True)
        self.records.delete_service('host1', actor='x')
        self.assertEqual(before, self.service('host2'))
        self.assert_applied('host2', two, records.claim(1))

    def test_deleted_service_is_gone_with_one_event(self) -> None:
        self.register('host1')
        self.records.delete_service('host1', actor='an operator')
        self.assertEqual([], list(self.records.services()))
        self.assertEqual(
            ('an operator', 'service_deleted', 'host1'), self.last_event()
        )

    def test_service_with_a_compute_node_is_not_deleted(self) -> None:
        epoch = self.register('host1')
        self.assert_applied('host1', epoch, records.claim(1), records.claim(2))
        before = self.state()
        with self.assertRaises(exceptions.ServiceInUseError) as caught:
            self.records.delete_service('host1', actor='x')
        self.assertEqual(
            (2, 0),
            (caught.exception.compute_nodes, caught.exception.instances),
        )
        self.assertEqual(before, self.state())

    def test_service_with_an_instance_is_not_deleted(self) -> None:
        epoch = self.register('host1')
        self.assert_applied(
            'host1', epoch, records.claim(1, instance_uuid=records.uuid(901))
        )
        with self.assertRaises(exceptions.ServiceInUseError) as caught:
            self.records.delete_service('host1', actor='x')
        self.assertEqual(
            (1, 1),
            (caught.exception.compute_nodes, caught.exception.instances),
        )

    def test_what_is_past_does_not_keep_a_service(self) -> None:
        one, two = self.register('host1'), self.register('host2')
        for number in (1, 2):
            self.assert_applied(
                'host1',
                one,
                records.claim(number, instance_uuid=records.uuid(901)),
                Update(records.node(number)),
            )
        self.assert_applied(
            'host1',
            one,
            Release(records.uuid(1)),
            Delete(records.uuid(2)),
        )
        self.assert_applied('host2', two, records.claim(1))
        self.records.delete_service('host1', actor='x')
        self.assertEqual('host2', self.owner(1))

    def test_process_of_a_deleted_service_never_writes_again(self) -> None:
        old = [self.register('host1'), self.register('host1')]
        self.records.delete_service('host1', actor='x')
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', old[-1], [records.claim(1)])
        again = self.register('host1')
        self.assertGreater(again, max(old))
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', old[-1], [records.claim(1)])
        self.records.delete_service('host1', actor='x')
        self.assertGreater(self.register('host1'), again)

    def test_event_has_the_reason_of_the_operator(self) -> None:
        self.register('host1')
        self.set_service('host1', forced_down=True, reason='on fire')
        event = self.records.events(limit=1)[0]
        self.assertEqual('service_forced_down', event.kind)
        self.assertTrue(str(event.reason).endswith('; on fire'), event)
        self.set_service('host1', disabled=True, reason='x' * 255)
        self.assertEqual(
            f'disabled=True; {"x" * 255}',
            self.records.events(limit=1)[0].reason,
        )
