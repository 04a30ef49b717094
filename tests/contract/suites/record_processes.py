"""Laws of the active process of a service, for every implementation."""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions, model
from tests.contract.suites.records import RecordsContract, claim


class ProcessContract(RecordsContract):
    """One process is active, the others stand by."""

    def start(self, incarnation: str | None, *alive: str, **seen: Any) -> int:
        """Register a process of the host of these tests."""
        options = {'incarnation': incarnation, 'alive': alive, **seen}
        return self.register('host1', **options)

    def assert_stands_by(
        self, incarnation: str | None, *alive: str, active: str, **seen: Any
    ) -> None:
        """Have a registration refused, without a trace."""
        before = self.state()
        with self.assertRaises(exceptions.StandbyError) as caught:
            self.start(incarnation, *alive, **seen)
        self.assert_has(
            caught.exception,
            host='host1',
            active=active,
            epoch=self.service('host1').epoch,
        )
        self.assertEqual(before, self.state())

    def fail_over(self, incarnation: str) -> model.Service:
        """Name the process that is to take over."""
        return self.records.fail_over(
            'host1', incarnation=incarnation, actor='alice'
        )

    def assert_active(self, incarnation: str | None) -> None:
        self.assertEqual(incarnation, self.service('host1').incarnation)

    def test_process_next_to_a_live_active_one_stands_by(self) -> None:
        epoch = self.start('one', 'one', 'two')
        self.assert_active('one')
        self.assert_stands_by('two', 'one', 'two', active='one')
        self.assert_stands_by(None, 'one', active='one')
        self.applied('host1', claim(1))
        self.assertGreater(self.start('one', 'one', 'two'), epoch)
        self.assert_stands_by('two', 'one', 'two', active='one')

    def test_process_that_knows_of_no_death_takes_no_place(self) -> None:
        self.start('one')
        self.assert_stands_by('two', alive=None, active='one')
        epoch = self.start('one', alive=None)
        self.records.retire('host1', epoch, grace=0)
        self.start('two', alive=None)

    def test_process_takes_the_place_of_a_dead_one(self) -> None:
        old = self.start('one', 'one', 'two')
        self.assertGreater(self.start('two', 'two', 'three'), old)
        self.assert_active('two')
        self.assert_fenced('host1', old)
        self.applied('host1', claim(1))

    def test_process_that_came_back_since_it_was_seen_keeps_its_place(
        self,
    ) -> None:
        # The request of its standby was late: alive were the ones before.
        seen = self.start('one')
        epoch = self.start('one')
        self.assert_stands_by('two', 'two', active='one', seen_epoch=seen)
        self.applied('host1', claim(1))
        self.assertGreater(self.start('two', 'two', seen_epoch=epoch), epoch)

    def test_fenced_process_is_replaced_under_any_epoch(self) -> None:
        seen = self.start('one')
        self.fail_over('one')
        self.start('two', 'two', seen_epoch=seen)

    def test_process_takes_over_from_one_without_a_name(self) -> None:
        self.start(None)
        self.assert_active(None)
        self.start('one', 'one', 'two')
        self.assert_active('one')

    def test_fenced_but_live_process_keeps_its_place(self) -> None:
        self.start('one')
        self.register('host2')
        self.applied('host1', claim(1))
        self.applied('host2', self.take(1))
        self.assert_stands_by('two', 'one', 'two', active='one')
        self.start('two', 'two')

    def test_fail_over_fences_at_once_and_moves_no_node(self) -> None:
        epoch = self.start('one')
        self.applied('host1', claim(1))
        events = len(self.records.events())
        service = self.fail_over('two')
        self.assertEqual(service, self.service('host1'))
        self.assert_has(
            service, incarnation='two', fenced=True, epoch=epoch + 1
        )
        self.assertEqual(events + 1, len(self.records.events()))
        self.assert_event(
            actor='alice',
            kind='service_failed_over',
            from_host='host1',
            to_host='host1',
            reason='incarnation=two',
        )
        self.assert_fenced('host1', epoch, epoch + 1)
        self.start('two', 'one', 'two')
        self.assertEqual('host1', self.owner(1))
        self.refused('host1', claim(1))

    def test_named_process_registers_next_to_the_one_before(self) -> None:
        self.start('one')
        self.fail_over('two')
        self.assert_stands_by('one', 'one', 'two', active='two')
        self.start('two', 'one', 'two')
        self.assertFalse(self.service('host1').fenced)
        self.assert_stands_by('one', 'one', 'two', active='two')
        # Any one registers once the named one is dead.
        self.fail_over('four')
        self.start('one', 'one', 'three')
        self.assert_active('one')

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
            self.assert_active('one')
        self.assert_stands_by('two', 'one', active='one')
