"""Laws of the history, for every implementation of the records."""

from __future__ import annotations

from typing import Any

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import EventFilter, EventPosition
from ironic_ownership.contracts.records import Release
from tests.contract.suites.records import RecordsContract, claim, uuid

CAUSE = 'last heartbeat at least 20.4 s ago'


class EventContract(RecordsContract):
    """Lists of events, and the events of fences, deaths and take-overs."""

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.register('host1'), self.register('host2')
        self.applied('host1', claim(1))
        self.applied('host2', claim(2))
        self.applied('host1', Release(uuid(1)))

    def test_each_filter_selects(self) -> None:
        owned, node1 = ('owner_changed', uuid(1)), uuid(1)
        others = ('owner_changed', uuid(2)), ('service_registered', None)
        registered = ('service_registered', None)
        everything = [owned, others[0], owned, registered, registered]
        kinds = 'service_registered', 'owner_changed'
        for chosen, expected in (
            ({'node_uuid': node1}, [owned] * 2),
            ({'service': 'host2'}, [*others]),
            ({'kinds': kinds[:1]}, [registered] * 2),
            ({'kinds': kinds}, everything),
            ({'actor': 'host1'}, [owned, owned, registered]),
            (
                {'service': 'host1', 'kinds': kinds[1:], 'node_uuid': node1},
                [owned] * 2,
            ),
            ({'service': 'host'}, []),
            ({'actor': 'HOST1'}, []),
            ({'kinds': ['x']}, []),
            ({'request_id': 'req-1'}, []),
            ({'node_uuid': uuid(9)}, []),
        ):
            found = self.records.events(EventFilter(**chosen))
            self.assertEqual(
                expected, [(e.kind, e.node_uuid) for e in found], chosen
            )

    def test_times_are_from_the_first_up_to_the_last_excluded(self) -> None:
        for number, event in enumerate(self.records.events()):
            self.set_time(event.id, 1000.0 - number)
        found = self.events(since=997, until=999)
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
            self.applied('host1', claim(number))
        everything = self.records.events()
        for event in everything[2:7]:
            self.set_time(event.id, everything[2].at)
        # Ids are not in the order of times once a clock was set back.
        self.set_time(everything[0].id, everything[8].at)
        everything = self.records.events()
        for size in (1, 2, 3, 5, 100):
            walked: list[object] = []
            before = None
            while page := self.records.events(before=before, limit=size):
                self.assertLessEqual(len(page), size)
                walked += page
                before = EventPosition(page[-1].at, page[-1].id)
            self.assertEqual(list(everything), walked, size)

    def test_request_of_an_operator_is_on_record(self) -> None:
        """With its reason, after the facts."""
        epoch = self.register('host3')
        for number, (change, values, kind, reason) in enumerate(
            (
                (
                    self.records.fail_over,
                    {'incarnation': 'b'},
                    'service_failed_over',
                    'incarnation=b; CHG-42',
                ),
                (
                    self.records.set_service,
                    {'disabled': True},
                    'service_changed',
                    'disabled=True; CHG-42',
                ),
                (
                    self.records.delete_service,
                    {},
                    'service_deleted',
                    f'epoch {epoch + 1}; CHG-42',
                ),
            )
        ):
            by: dict[str, Any] = {'actor': 'alice', 'reason': 'CHG-42'}
            request_id = f'req-{number}'
            change('host3', **by, **values, request_id=request_id)
            (event,) = self.events(request_id=request_id)
            self.assert_has(event, kind=kind, actor='alice', reason=reason)
        self.assertIsNone(self.records.events()[-1].request_id)

    def test_fence_and_take_over_state_their_reason(self) -> None:
        claims = self.take(2, 'host2', cause=CAUSE), claim(3)
        for change, fenced in zip(claims, (('host2',), ()), strict=True):
            outcome = self.apply('host1', self.one, change)
            self.assertEqual(fenced, outcome.fenced)
        seen = f'{CAUSE}, seen missing by host1'
        taken = f'1 free node; {CAUSE}'
        found = self.events('service_fenced', 'nodes_taken_over')
        self.assertEqual(
            [
                ('nodes_taken_over', 'host1', 'host2', 'host1', taken),
                ('service_fenced', 'host1', 'host2', None, seen),
            ],
            [
                (e.kind, e.actor, e.from_host, e.to_host, e.reason)
                for e in found
            ],
        )
        # The fence is the record of the death as well.
        self.assertFalse(self.death('host1'))
        self.assert_deaths(seen)

    def death(
        self, by: str, cause: str = 'long ago', seen: int | None = None
    ) -> bool:
        epoch = self.service('host2').epoch if seen is None else seen
        return self.records.record_death(
            by, self.epochs[by], 'host2', epoch, cause
        )

    def assert_deaths(self, *reasons: str) -> None:
        found = self.events('service_died', actor='host1', service='host2')
        self.assertEqual(list(reasons), [event.reason for event in found])
        self.assertEqual(len(found), len(self.events('service_died')))

    def test_death_is_recorded_once_for_all_observers(self) -> None:
        self.register('host3')
        self.assertTrue(self.death('host1', 'x' * 300))
        self.assertFalse(self.death('host3'))
        self.assertFalse(self.death('host1'))
        self.assert_deaths('x' * 255)
        self.assertFalse(self.service('host2').fenced)
        # The next life has its own.
        self.register('host2')
        self.assertTrue(self.death('host1'))

    def test_fence_after_the_record_of_a_death_adds_no_other(self) -> None:
        self.assertTrue(self.death('host1'))
        self.applied('host1', self.take(2, 'host2', cause=CAUSE))
        self.assert_deaths('long ago, seen missing by host1')

    def test_take_over_from_one_that_is_forced_down_is_no_death(
        self,
    ) -> None:
        self.records.set_service('host2', actor='alice', forced_down=True)
        self.applied('host1', self.take(2, 'host2'))
        self.assert_deaths()

    def test_clock_that_was_set_back_hides_and_repeats_no_death(self) -> None:
        self.assertTrue(self.death('host1'))
        (first,) = self.events('service_died')
        self.set_time(first.id, first.at - 3600.0)
        self.assertFalse(self.death('host1'))
        self.set_time(first.id, first.at + 3600.0)
        self.register('host2')
        self.assertTrue(self.death('host1'))

    def test_no_death_is_recorded_of_one_that_is_not_as_it_was(self) -> None:
        self.register('host2')
        before = self.state()
        self.assertFalse(self.death('host1', seen=self.two))
        unknown = 'host1', self.one, 'host9', 0, 'x'
        self.assertFalse(self.records.record_death(*unknown))
        self.assertEqual(before, self.state())
        self.records.retire('host2', self.epochs['host2'], grace=0)
        before = self.state()
        self.assertFalse(self.death('host1'))
        self.assertEqual(before, self.state())

    def test_observer_that_is_fenced_records_no_death(self) -> None:
        self.records.set_service('host1', actor='alice', forced_down=True)
        before = self.state()
        with self.assertRaises(exceptions.FencedError):
            self.death('host1')
        self.assertEqual(before, self.state())
