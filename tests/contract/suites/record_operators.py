"""Laws of operators' changes to services, for every implementation."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.records import Delete, Release, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

ACTOR = 'an operator'


class OperatorContract(RecordsContract):
    """Disabling, forcing down and deleting services."""

    def set_service(self, host: str, **values: object) -> model.Service:
        """Change a service as an operator does, and check the answer."""
        found = self.records.set_service(
            host,
            actor=ACTOR,
            **values,  # type: ignore[arg-type]
        )
        self.assertEqual(found, self.service(host))
        return found

    def delete(self, host: str = 'host1') -> None:
        self.records.delete_service(host, actor=ACTOR)

    def test_unknown_service_is_not_created(self) -> None:
        for change in (
            lambda: self.set_service('host1', disabled=True),
            lambda: self.records.fail_over(
                'host1', incarnation='two', actor=ACTOR
            ),
            lambda: self.records.give_order('host1', None, Origin(ACTOR)),
            self.delete,
        ):
            self.assertRaises(exceptions.NotFoundError, change)
        self.assertEqual(((), (), ()), self.state())

    def test_disabled_service_keeps_its_epoch_and_may_write(self) -> None:
        epoch = self.register('host1')
        self.assert_has(
            self.set_service(
                'host1', disabled=True, disabled_reason='new fans'
            ),
            disabled=True,
            disabled_reason='new fans',
            epoch=epoch,
            fenced=False,
        )
        self.assert_event(
            actor=ACTOR, kind='service_changed', from_host='host1'
        )
        self.applied('host1', claim(1))

    def test_reason_stays_until_another_is_given_or_it_is_enabled(
        self,
    ) -> None:
        self.register('host1')
        for values, reason in (
            ({'disabled': True, 'disabled_reason': 'one'}, 'one'),
            ({'disabled': True, 'forced_down': True}, 'one'),
            ({'disabled_reason': 'two'}, 'two'),
            ({'disabled': False}, None),
        ):
            found = self.set_service('host1', **values)
            self.assertEqual(reason, found.disabled_reason, values)
        self.assertFalse(found.disabled)

    def test_several_settings_leave_one_event_and_again_none(self) -> None:
        self.register('host1')
        wanted = {
            'disabled': True,
            'disabled_reason': 'x' * 255,
            'forced_down': True,
        }
        self.set_service('host1', **wanted)
        self.assertEqual(2, len(self.records.events()))
        self.assert_event(
            actor=ACTOR, kind='service_forced_down', from_host='host1'
        )
        before = self.state()
        self.set_service('host1', **wanted)
        self.set_service('host1')
        self.assertEqual(before, self.state())

    def test_service_that_is_forced_down_stops_writing_at_once(self) -> None:
        epoch = self.register('host1')
        down = self.set_service('host1', forced_down=True)
        self.assert_has(down, forced_down=True, fenced=True, epoch=epoch + 1)
        self.assert_fenced('host1', epoch, epoch + 1)
        before = self.state()
        with self.assertRaisesRegex(
            exceptions.FencedError, 'host1 is forced down'
        ):
            self.register('host1')
        self.assertEqual(before, self.state())
        up = self.set_service('host1', forced_down=False)
        self.assert_has(up, forced_down=False, fenced=True)
        self.assert_fenced('host1', epoch, up.epoch)
        self.register('host1')
        self.applied('host1', claim(1))

    def test_other_services_do_not_notice(self) -> None:
        self.register('host1')
        self.register('host2')
        before = self.service('host2')
        self.set_service('host1', disabled=True, forced_down=True)
        self.delete()
        self.assertEqual([before], list(self.records.services()))
        self.assert_event(
            actor=ACTOR, kind='service_deleted', from_host='host1'
        )
        self.applied('host2', claim(1))

    def test_service_with_a_node_or_an_instance_is_not_deleted(self) -> None:
        self.register('host1')
        self.applied('host1', claim(1), claim(2))
        for instances in (0, 1):
            before = self.state()
            with self.assertRaises(exceptions.ServiceInUseError) as caught:
                self.delete()
            self.assert_has(
                caught.exception, compute_nodes=2, instances=instances
            )
            self.assertEqual(before, self.state())
            self.applied('host1', Update(node(1, instance_uuid=uuid(901))))

    def test_what_is_past_does_not_keep_a_service(self) -> None:
        self.register('host1')
        self.register('host2')
        for number in (1, 2):
            self.applied(
                'host1',
                claim(number, instance_uuid=uuid(901)),
                Update(node(number)),
            )
        self.applied('host1', Release(uuid(1)), Delete(uuid(2)))
        self.applied('host2', claim(1))
        self.delete()
        self.assertEqual('host2', self.owner(1))

    def test_process_of_a_deleted_service_never_writes_again(self) -> None:
        epochs = [self.register('host1'), self.register('host1')]
        for _ in range(2):
            self.delete()
            self.assert_fenced('host1', *epochs)
            again = self.register('host1')
            self.assertGreater(again, max(epochs))
            self.assert_fenced('host1', *epochs)
            epochs.append(again)

    def test_event_has_the_reason_of_the_operator(self) -> None:
        self.register('host1')
        self.set_service('host1', forced_down=True, reason='on fire')
        self.assert_event(
            kind='service_forced_down', reason='forced_down=True; on fire'
        )
        self.set_service('host1', disabled=True, reason='x' * 255)
        self.assert_event(reason=f'disabled=True; {"x" * 255}')
