"""Laws of the active process of a service, for every implementation."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from tests.contract.suites import records


class ProcessContract(records.RecordsContract):
    """One process is active, the others stand by."""

    def start(self, incarnation: str | None, *alive: str) -> int:
        """Register a process of the host of these tests."""
        return self.records.register(
            'host1', records.SETTINGS, incarnation=incarnation, alive=alive
        )

    def assert_stands_by(
        self, incarnation: str | None, *alive: str, active: str
    ) -> None:
        """Have a registration refused, without a trace."""
        before = self.state()
        with self.assertRaises(exceptions.StandbyError) as caught:
            self.start(incarnation, *alive)
        self.assertEqual(
            ('host1', active), (caught.exception.host, caught.exception.active)
        )
        self.assertEqual(before, self.state())

    def fail_over(self, incarnation: str) -> model.Service:
        """Name the process that is to take over."""
        return self.records.fail_over(
            'host1', incarnation=incarnation, actor='alice'
        )

    def test_service_names_the_process_that_registered(self) -> None:
        self.start('one', 'one', 'two')
        self.assertEqual('one', self.service('host1').incarnation)

    def test_service_of_a_process_without_a_name_names_none(self) -> None:
        self.start(None)
        self.assertIsNone(self.service('host1').incarnation)

    def test_process_next_to_a_live_active_one_stands_by(self) -> None:
        epoch = self.start('one')
        self.assert_stands_by('two', 'one', 'two', active='one')
        self.assert_stands_by(None, 'one', active='one')
        self.assert_applied('host1', epoch, records.claim(1))

    def test_process_that_knows_of_no_death_takes_no_place(self) -> None:
        self.start('one')
        with self.assertRaises(exceptions.StandbyError):
            self.records.register(
                'host1', records.SETTINGS, incarnation='two', alive=None
            )
        epoch = self.records.register(
            'host1', records.SETTINGS, incarnation='one', alive=None
        )
        self.records.retire('host1', epoch, grace=0)
        self.records.register(
            'host1', records.SETTINGS, incarnation='two', alive=None
        )

    def test_process_takes_the_place_of_a_dead_one(self) -> None:
        old = self.start('one', 'one', 'two')
        new = self.start('two', 'two', 'three')
        self.assertGreater(new, old)
        self.assertEqual('two', self.service('host1').incarnation)
        with self.assertRaises(exceptions.FencedError):
            self.records.apply('host1', old, [records.claim(1)])
        self.assert_applied('host1', new, records.claim(1))

    def test_process_that_came_back_since_it_was_seen_keeps_its_place(
        self,
    ) -> None:
        # The request of its standby was late: alive were the ones before.
        seen = self.start('one')
        epoch = self.start('one')
        with self.assertRaises(exceptions.StandbyError) as caught:
            self.replace(seen)
        self.assertEqual(epoch, caught.exception.epoch)
        self.assert_applied('host1', epoch, records.claim(1))
        self.assertGreater(self.replace(epoch), epoch)

    def test_fenced_process_is_replaced_under_any_epoch(self) -> None:
        seen = self.start('one')
        self.fail_over('one')
        self.assertGreater(self.replace(seen), seen)

    def replace(self, seen: int) -> int:
        """Register a standby that saw no process but itself."""
        return self.records.register(
            'host1',
            records.SETTINGS,
            incarnation='two',
            alive=['two'],
            seen_epoch=seen,
        )

    def test_active_process_registers_again(self) -> None:
        epoch = self.start('one', 'one', 'two')
        self.assertGreater(self.start('one', 'one', 'two'), epoch)
        self.assert_stands_by('two', 'one', 'two', active='one')

    def test_process_takes_over_from_one_without_a_name(self) -> None:
        self.start(None)
        self.start('one', 'one', 'two')
        self.assertEqual('one', self.service('host1').incarnation)

    def test_fenced_but_live_process_keeps_its_place(self) -> None:
        one, two = self.start('one'), self.register('host2')
        self.assert_applied('host1', one, records.claim(1))
        self.assert_applied(
            'host2', two, records.claim(1, seen_host='host1', seen_epoch=one)
        )
        self.assertEqual('one', self.service('host1').incarnation)
        self.assert_stands_by('two', 'one', 'two', active='one')
        self.start('two', 'two')

    def test_fail_over_fences_the_active_process_at_once(self) -> None:
        epoch = self.start('one')
        service = self.fail_over('two')
        self.assertEqual(service, self.service('host1'))
        self.assertEqual(
            ('two', True, epoch + 1),
            (service.incarnation, service.fenced, service.epoch),
        )
        for old in (epoch, epoch + 1):
            with self.assertRaises(exceptions.FencedError):
                self.records.apply('host1', old, [records.claim(1)])

    def test_fail_over_leaves_one_event(self) -> None:
        self.start('one')
        self.fail_over('two')
        event = self.records.events()[0]
        self.assertEqual(2, len(self.records.events()))
        self.assertEqual(
            ('alice', 'service_failed_over', 'host1', 'host1'),
            (event.actor, event.kind, event.from_host, event.to_host),
        )
        self.assertIn('two', str(event.reason))

    def test_fail_over_moves_no_node(self) -> None:
        epoch = self.start('one')
        self.assert_applied('host1', epoch, records.claim(1))
        self.fail_over('two')
        new = self.start('two', 'one', 'two')
        self.assertEqual('host1', self.owner(1))
        self.assertEqual(['owner_changed'], self.kinds(1))
        self.assert_refused('host1', new, records.claim(1))

    def test_named_process_registers_next_to_the_one_before(self) -> None:
        self.start('one')
        self.fail_over('two')
        self.assert_stands_by('one', 'one', 'two', active='two')
        self.start('two', 'one', 'two')
        self.assertFalse(self.service('host1').fenced)
        self.assert_stands_by('one', 'one', 'two', active='two')

    def test_any_process_registers_once_the_named_one_is_dead(self) -> None:
        self.start('one')
        self.fail_over('two')
        self.start('one', 'one', 'three')
        self.assertEqual('one', self.service('host1').incarnation)

    def test_fail_over_of_an_unknown_service_is_refused(self) -> None:
        with self.assertRaises(exceptions.NotFoundError):
            self.fail_over('two')
        self.assertEqual(((), (), ()), self.state())

    def test_forced_down_service_stays_fenced_after_a_fail_over(self) -> None:
        self.start('one')
        self.records.set_service('host1', actor='alice', forced_down=True)
        self.fail_over('two')
        with self.assertRaises(exceptions.FencedError):
            self.start('two', 'two')
        self.assertTrue(self.service('host1').fenced)

    def test_operators_decision_does_not_touch_the_place(self) -> None:
        self.start('one')
        self.records.set_service('host1', actor='alice', disabled=True)
        for down in (True, False):
            self.records.set_service('host1', actor='alice', forced_down=down)
            self.assertEqual('one', self.service('host1').incarnation)
        self.assert_stands_by('two', 'one', active='one')
