"""Laws of the history, for every implementation of the records."""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import EventFilter, EventPosition
from ironic_ownership.contracts.records import Release
from tests.contract.suites import records

CAUSE = 'last heartbeat at least 20.4 s ago'


class EventContract(records.RecordsContract):
    """Lists of events, and the events of fences, deaths and take-overs."""

    def set_time(self, event_id: int, at: float) -> None:
        """Change the time of an event, as a clock that was wrong does."""
        raise NotImplementedError

    def chosen(self, **values: Any) -> list[tuple[str, str | None]]:
        """Return kind and node of the selected events, newest first."""
        found = self.records.events(EventFilter(**values))
        return [(e.kind, e.node_uuid) for e in found]

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.register('host1'), self.register('host2')
        self.assert_applied('host1', self.one, records.claim(1))
        self.assert_applied('host2', self.two, records.claim(2))
        self.assert_applied('host1', self.one, Release(records.uuid(1)))

    def take_over(self) -> None:
        """Let host1 take node 2 from host2."""
        self.assert_applied(
            'host1',
            self.one,
            records.claim(
                2,
                seen_host='host2',
                seen_epoch=self.two,
                cause=CAUSE,
            ),
        )

    def test_each_filter_selects(self) -> None:
        owned, node1 = 'owner_changed', records.uuid(1)
        self.assertEqual(
            [(owned, node1), (owned, node1)], self.chosen(node_uuid=node1)
        )
        self.assertEqual(
            [(owned, records.uuid(2)), ('service_registered', None)],
            self.chosen(service='host2'),
        )
        self.assertEqual(2, len(self.chosen(kinds=['service_registered'])))
        self.assertEqual(
            5, len(self.chosen(kinds=['service_registered', owned]))
        )
        self.assertEqual(3, len(self.chosen(actor='host1')))
        self.assertEqual(
            [(owned, node1)] * 2,
            self.chosen(service='host1', kinds=[owned], node_uuid=node1),
        )
        for nothing in (
            {'service': 'host'},
            {'actor': 'HOST1'},
            {'kinds': ['x']},
            {'request_id': 'req-1'},
            {'node_uuid': records.uuid(9)},
        ):
            self.assertEqual([], self.chosen(**nothing), nothing)

    def test_times_are_from_the_first_up_to_the_last_excluded(self) -> None:
        events = self.records.events()
        for number, event in enumerate(events):
            self.set_time(event.id, 1000.0 - number)
        found = self.records.events(EventFilter(since=997, until=999))
        self.assertEqual([998.0, 997.0], [event.at for event in found])

    def test_order_is_that_of_time_then_of_id(self) -> None:
        before = self.records.events()
        oldest, second = before[-1], before[-2]
        self.set_time(oldest.id, before[0].at + 1)
        self.set_time(second.id, before[0].at)
        tied = sorted((second.id, before[0].id), reverse=True)
        rest = [event.id for event in before[1:-2]]
        self.assertEqual(
            [oldest.id, *tied, *rest], [e.id for e in self.records.events()]
        )

    def test_pages_are_the_whole_list(self) -> None:
        for number in range(3, 10):
            self.assert_applied('host1', self.one, records.claim(number))
        everything = self.records.events()
        for event in everything[2:7]:
            self.set_time(event.id, everything[2].at)
        everything = self.records.events()
        for size in (1, 2, 3, 5, 100):
            walked: list[object] = []
            before = None
            while page := self.records.events(before=before, limit=size):
                walked += page
                before = EventPosition(page[-1].at, page[-1].id)
            self.assertEqual(list(everything), walked, size)

    def test_request_of_an_operator_is_on_record(self) -> None:
        self.register('host3')
        self.records.set_service(
            'host3', actor='alice', disabled=True, request_id='req-1'
        )
        self.records.fail_over(
            'host3', incarnation='b', actor='alice', request_id='req-2'
        )
        self.records.delete_service('host3', actor='alice', request_id='req-3')
        for request_id, kind in (
            ('req-1', 'service_changed'),
            ('req-2', 'service_failed_over'),
            ('req-3', 'service_deleted'),
        ):
            (event,) = self.records.events(EventFilter(request_id=request_id))
            self.assertEqual((kind, 'alice'), (event.kind, event.actor))
        self.assertIsNone(self.records.events()[-1].request_id)

    def test_reason_of_an_operator_follows_the_facts(self) -> None:
        epoch = self.register('host3')
        why = {'actor': 'alice', 'reason': 'CHG-42'}
        self.records.fail_over('host3', incarnation='b', **why)
        self.records.set_service('host3', disabled=True, **why)
        self.records.delete_service('host3', **why)
        found = self.records.events(EventFilter(actor='alice'))
        self.assertEqual(
            [
                f'epoch {epoch + 1}; CHG-42',
                'disabled=True; CHG-42',
                'incarnation=b; CHG-42',
            ],
            [event.reason for event in found],
        )

    def test_fence_and_take_over_state_their_reason(self) -> None:
        self.take_over()
        found = self.records.events(
            EventFilter(kinds=['service_fenced', 'nodes_taken_over'])
        )
        self.assertEqual(
            [
                (
                    *('nodes_taken_over', 'host1', 'host2', 'host1'),
                    f'1 free nodes; {CAUSE}',
                ),
                (
                    *('service_fenced', 'host1', 'host2', None),
                    f'{CAUSE}, seen missing by host1',
                ),
            ],
            [
                (e.kind, e.actor, e.from_host, e.to_host, e.reason)
                for e in found
            ],
        )

    def test_outcome_names_the_fenced_hosts(self) -> None:
        claim = records.claim(2, seen_host='host2', seen_epoch=self.two)
        outcome = self.apply('host1', self.one, claim)
        self.assertEqual(('host2',), outcome.fenced)
        outcome = self.apply('host1', self.one, records.claim(3))
        self.assertEqual((), outcome.fenced)

    def death(self, by: str, epoch: int, cause: str = 'long ago') -> bool:
        seen = self.service('host2').epoch
        return self.records.record_death(by, epoch, 'host2', seen, cause)

    def test_death_is_recorded_once_for_all_observers(self) -> None:
        three = self.register('host3')
        self.assertTrue(self.death('host1', self.one))
        self.assertFalse(self.death('host3', three))
        self.assertFalse(self.death('host1', self.one))
        (event,) = self.records.events(EventFilter(kinds=['service_died']))
        self.assertEqual(
            ('host1', 'host2', 'long ago, seen missing by host1'),
            (event.actor, event.from_host, event.reason),
        )
        self.assertFalse(self.service('host2').fenced)

    def test_fence_of_a_dead_service_is_the_record_of_its_death(self) -> None:
        self.take_over()
        self.assertFalse(self.death('host1', self.one))
        (event,) = self.records.events(EventFilter(kinds=['service_died']))
        self.assertEqual(
            ('host1', 'host2', f'{CAUSE}, seen missing by host1'),
            (event.actor, event.from_host, event.reason),
        )

    def test_fence_after_the_record_of_a_death_adds_no_other(self) -> None:
        self.assertTrue(self.death('host1', self.one))
        claim = records.claim(2, seen_host='host2', seen_epoch=self.two)
        self.apply('host1', self.one, claim)
        (event,) = self.records.events(EventFilter(kinds=['service_died']))
        self.assertEqual('long ago, seen missing by host1', event.reason)

    def test_take_over_from_one_that_is_forced_down_is_no_death(
        self,
    ) -> None:
        self.records.set_service('host2', actor='alice', forced_down=True)
        claim = records.claim(2, seen_host='host2', seen_epoch=self.two)
        outcome = self.apply('host1', self.one, claim)
        self.assertEqual([claim], list(outcome.applied))
        self.assertEqual(
            [], list(self.records.events(EventFilter(kinds=['service_died'])))
        )

    def test_next_life_has_its_own_death(self) -> None:
        self.assertTrue(self.death('host1', self.one))
        self.register('host2')
        self.assertTrue(self.death('host1', self.one))

    def test_death_is_recorded_also_after_the_clock_was_set_back(
        self,
    ) -> None:
        self.assertTrue(self.death('host1', self.one))
        (first,) = self.records.events(EventFilter(kinds=['service_died']))
        self.set_time(first.id, first.at + 3600.0)
        self.register('host2')
        self.assertTrue(self.death('host1', self.one))

    def test_death_is_recorded_once_if_the_clock_is_set_back(self) -> None:
        self.assertTrue(self.death('host1', self.one))
        (first,) = self.records.events(EventFilter(kinds=['service_died']))
        self.set_time(first.id, first.at - 3600.0)
        self.assertFalse(self.death('host1', self.one))

    def test_end_that_is_on_record_is_no_death(self) -> None:
        self.records.retire('host2', self.two, grace=0)
        before = self.state()
        self.assertFalse(self.death('host1', self.one))
        self.assertFalse(
            self.records.record_death('host1', self.one, 'host9', 0, 'x')
        )
        self.assertEqual(before, self.state())

    def test_registration_that_came_meanwhile_is_no_death(self) -> None:
        self.register('host2')
        before = self.state()
        self.assertFalse(
            self.records.record_death(
                'host1', self.one, 'host2', self.two, 'long ago'
            )
        )
        self.assertEqual(before, self.state())

    def test_observer_that_is_fenced_records_no_death(self) -> None:
        self.records.set_service('host1', actor='alice', forced_down=True)
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.death('host1', self.one)
        self.assertEqual(before, self.state())

    def test_long_cause_is_cut(self) -> None:
        self.assertTrue(self.death('host1', self.one, 'x' * 300))
        (event,) = self.records.events(EventFilter(kinds=['service_died']))
        self.assertEqual('x' * 255, event.reason)
