"""Laws of pauses, for every implementation of the records."""

from __future__ import annotations

from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.contracts.records import Change, Pause, Release, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid

OPERATOR = Origin('operator', 'req-resume')


class PauseContract(RecordsContract):
    """While a pause lasts, no node in its scope changes owner."""

    requests = 0

    def setUp(self) -> None:
        super().setUp()
        self.register('host1')
        self.register('host2')
        self.applied(
            'host1',
            claim(0, shard='a'),
            claim(1, conductor_group='g'),
            claim(2, shard='b'),
        )

    def pause(self, seconds: float = 600.0, **scope: str) -> Pause:
        self.requests += 1
        origin = Origin('operator', f'req-{self.requests}')
        return self.records.begin_pause(origin, seconds, 'cables', **scope)

    def held(self, host: str, *changes: Change) -> list[str]:
        """Apply changes; return the nodes that a pause holds."""
        before = self.state()
        outcome = self.records.apply(host, self.epochs[host], changes)
        self.assertEqual((), outcome.refused)
        if not outcome.applied:
            self.assertEqual(before, self.state())
        return [change.uuid for change in outcome.paused]

    def test_pause_holds_claims_and_releases_and_nothing_else(self) -> None:
        pause = self.pause()
        self.assertEqual([pause], [*self.records.pauses()])
        held = self.held('host2', self.take(0))
        self.assertEqual([uuid(0)], held)
        held = self.held('host1', Release(uuid(1)))
        self.assertEqual([uuid(1)], held)
        outcome = self.records.apply(
            'host1', self.epochs['host1'], [Release(uuid(2))], origin=OPERATOR
        )
        self.assertEqual(((), 1), (outcome.paused, len(outcome.applied)))
        update = Update(node(0, shard='a', instance_uuid='i'))
        self.assertEqual([], self.held('host1', claim(7), update))
        self.records.set_service('host1', actor='operator', forced_down=True)
        self.assertTrue(self.service('host1').fenced)

    def test_scope_is_shard_and_group_before_and_after(self) -> None:
        self.pause(shard='a')
        for number, values, expected in (
            (0, {'shard': 'a'}, 1),
            (0, {'shard': 'b'}, 1),
            (2, {'shard': 'a'}, 1),
            (1, {'conductor_group': 'g'}, 0),
        ):
            held = self.held('host2', self.take(number, **values))
            self.assertEqual(expected, len(held), (number, values))
        self.pause(conductor_group='')
        held = self.held('host2', self.take(2, shard='b'))
        self.assertEqual([uuid(2)], held)

    def test_released_node_counts_before_and_after_as_well(self) -> None:
        self.pause(shard='a')
        for number, shard, expected in (
            (0, 'a', 1),
            (0, 'b', 1),
            (2, 'a', 1),
            (2, 'b', 0),
        ):
            left = Release(uuid(number), node=node(number, shard=shard))
            held = self.held('host1', left)
            self.assertEqual(expected, len(held), (number, shard))

    def test_pause_ends_at_its_time_and_by_an_operator(self) -> None:
        self.pause(-1.0)
        self.assertEqual([], [*self.records.pauses()])
        self.assertEqual([], self.held('host1', Release(uuid(0))))
        pause = self.pause()
        ids = [pause.request_id, 'req-unknown']
        self.assertEqual([pause], [*self.records.end_pauses(OPERATOR, ids)])
        self.assertEqual([], [*self.records.pauses()])
        self.assertEqual([], self.held('host2', self.take(1)))

    def test_pauses_leave_events(self) -> None:
        pause = self.pause(shard='a')
        self.records.end_pauses(OPERATOR, [pause.request_id])
        kinds = EventKind.PAUSE_BEGAN.value, EventKind.PAUSE_ENDED.value
        found = self.events(*kinds)
        self.assertEqual(kinds, tuple(e.kind for e in found)[::-1])
        self.assertEqual(
            {('operator', "nodes of shard 'a': cables", 'req-1')},
            {(e.actor, e.reason, e.request_id) for e in found},
        )
