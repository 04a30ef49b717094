"""Laws of pauses, for every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.events import EventFilter, EventKind, Origin
from ironic_ownership.contracts.records import Change, Pause, Release, Update
from tests.contract.suites import records

OPERATOR = Origin('operator', 'req-resume')


class PauseContract(records.RecordsContract):
    """While a pause lasts, no node in its scope changes owner."""

    requests = 0

    def setUp(self) -> None:
        super().setUp()
        self.one, self.two = self.register('host1'), self.register('host2')
        for number, values in enumerate(
            ({'shard': 'a'}, {'conductor_group': 'g'}, {'shard': 'b'})
        ):
            self.assert_applied(
                'host1', self.one, records.claim(number, **values)
            )

    def pause(self, seconds: float = 600.0, **scope: str) -> Pause:
        self.requests += 1
        origin = Origin('operator', f'req-{self.requests}')
        return self.records.begin_pause(origin, seconds, 'cables', **scope)

    def take(self, number: int, **values: str) -> Change:
        return records.claim(
            number, seen_host='host1', seen_epoch=self.one, **values
        )

    def held(self, host: str, epoch: int, *changes: Change) -> list[str]:
        """Apply changes; return the nodes that a pause holds."""
        before = self.state()
        outcome = self.records.apply(host, epoch, changes)
        self.assertEqual((), outcome.refused)
        if not outcome.applied:
            self.assertEqual(before, self.state())
        return [change.uuid for change in outcome.paused]

    def test_pause_holds_claims_and_releases(self) -> None:
        pause = self.pause()
        self.assertEqual([pause], [*self.records.pauses()])
        self.assertEqual(
            [records.uuid(0)], self.held('host2', self.two, self.take(0))
        )
        self.assertEqual(
            [records.uuid(1)],
            self.held('host1', self.one, Release(records.uuid(1))),
        )
        self.assertFalse(self.service('host1').fenced)

    def test_scope_is_shard_and_group_before_and_after(self) -> None:
        self.pause(shard='a')
        for number, values, expected in (
            (0, {'shard': 'a'}, 1),
            (0, {'shard': 'b'}, 1),
            (2, {'shard': 'a'}, 1),
            (1, {'conductor_group': 'g'}, 0),
        ):
            held = self.held('host2', self.two, self.take(number, **values))
            self.assertEqual(expected, len(held), (number, values))
        self.pause(conductor_group='')
        held = self.held('host2', self.two, self.take(2, shard='b'))
        self.assertEqual([records.uuid(2)], held)

    def test_released_node_counts_before_and_after_as_well(self) -> None:
        self.pause(shard='a')
        for number, shard in ((0, 'a'), (0, 'b'), (2, 'a')):
            node = records.node(number, shard=shard)
            held = self.held('host1', self.one, Release(node.uuid, node=node))
            self.assertEqual([node.uuid], held, (number, shard))
        node = records.node(2, shard='b')
        left = Release(node.uuid, node=node)
        self.assertEqual([], self.held('host1', self.one, left))

    def test_pause_holds_nothing_else(self) -> None:
        self.pause()
        self.assertEqual(
            [],
            self.held(
                'host1',
                self.one,
                records.claim(7),
                Update(records.node(0, shard='a', instance_uuid='i')),
            ),
        )
        self.records.set_service('host1', actor='operator', forced_down=True)
        self.assertTrue(self.service('host1').fenced)

    def test_pause_ends_at_its_time_and_by_an_operator(self) -> None:
        self.pause(-1.0)
        self.assertEqual([], [*self.records.pauses()])
        self.assertEqual(
            [], self.held('host1', self.one, Release(records.uuid(0)))
        )
        pause = self.pause()
        ids = [pause.request_id, 'req-unknown']
        self.assertEqual([pause], [*self.records.end_pauses(OPERATOR, ids)])
        self.assertEqual([], [*self.records.pauses()])
        self.assertEqual([], self.held('host2', self.two, self.take(1)))

    def test_pauses_leave_events(self) -> None:
        pause = self.pause(shard='a')
        self.records.end_pauses(OPERATOR, [pause.request_id])
        kinds = EventKind.PAUSE_BEGAN.value, EventKind.PAUSE_ENDED.value
        found = self.records.events(EventFilter(kinds=kinds))
        self.assertEqual(kinds, tuple(e.kind for e in found)[::-1])
        self.assertEqual(
            {('operator', "nodes of shard 'a': cables", 'req-1')},
            {(e.actor, e.reason, e.request_id) for e in found},
        )
