"""The feed of owned nodes."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Mapping
from unittest import mock

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.reasons import (
    Evaluation,
    Unavailable,
)
from ironic_ownership.contracts.records import Claim, Delete, Release, Update
from ironic_ownership.engine.host import embedding_monitors
from ironic_ownership.engine.host.feed import (
    Feed,
    FeedChanges,
    NodeView,
    ReadToken,
)
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock
from tests.unit.engine import service, world

TTL = 20.0
OUT = Unavailable.OUT_OF_SERVICE
SETS = st.sets(st.integers(0, 5))


def node(number: int, power: str = 'on') -> model.Node:
    return world.node(number, power_state=power)


def follow(
    known: Mapping[str, NodeView], changes: FeedChanges
) -> dict[str, NodeView]:
    """Apply changes as a program does that follows the feed."""
    kept = {} if changes.reset else dict(known)
    for uuid in changes.lost:
        kept.pop(uuid, None)
    return kept | dict(changes.gained) | dict(changes.updated)


class FeedMachine(RuleBasedStateMachine):
    """A service whose records and right to act change at any time.

    Two programs follow the feed, one of them rarely. Marks are taken at any
    time and used later, as by a refresh that takes long.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.fence = Fence(TTL, 1.0, self.clock)
        self.feed = Feed(self.fence)
        self.epoch = 0
        self.records: set[int] = set()
        self.powers = dict.fromkeys(range(6), 'on')
        self.pending: tuple[ReadToken, set[int]] | None = None
        self.known: dict[str, NodeView] = {}
        self.generation = 0
        self.lazy: dict[str, NodeView] = {}
        self.lazy_generation = 0

    @initialize()
    def start(self) -> None:
        self.register()

    @rule()
    def register(self) -> None:
        self.epoch += 1
        self.fence.open(self.clock(), self.epoch)

    @rule()
    def beat(self) -> None:
        self.fence.extend(self.clock())

    @rule(seconds=st.sampled_from([1.0, 10.0, TTL]))
    def time_passes(self, seconds: float) -> None:
        self.clock.elapse(seconds)

    @rule()
    def fenced(self) -> None:
        self.fence.drop()

    @rule()
    def refresh_begins(self) -> None:
        self.pending = self.feed.read_token(), set(self.records)

    @rule()
    def refresh_lists(self) -> None:
        if self.pending is None:
            return
        token, numbers = self.pending
        self.feed.listed(
            token,
            {world.uuid(number) for number in numbers},
            {
                world.uuid(number): node(number, power)
                for number, power in self.powers.items()
            },
        )
        self.feed.completed(token)

    @rule(number=st.integers(0, 5))
    def claim(self, number: int) -> None:
        token = self.feed.read_token()
        if not self.fence.may_act:
            return
        self.records.add(number)
        change = Claim(
            node(number, self.powers[number]), reasons.Reason.EXCLUSIVE
        )
        self.feed.written(token, [change])

    @rule(number=st.integers(0, 5), forget=st.booleans())
    def release(self, number: int, forget: bool) -> None:
        token = self.feed.read_token()
        if not self.fence.may_act:
            return
        self.records.discard(number)
        uuid = world.uuid(number)
        change = Delete(uuid) if forget else Release(uuid)
        self.feed.written(token, [change])

    @rule(number=st.integers(0, 5), power=st.sampled_from(['on', 'off']))
    def changed(self, number: int, power: str) -> None:
        self.powers[number] = power
        token = self.feed.read_token()
        if self.fence.may_act and number in self.records:
            self.feed.written(token, [Update(node(number, power))])

    @rule(numbers=SETS)
    def moved_away(self, numbers: set[int]) -> None:
        self.records -= numbers
        own = {world.uuid(number) for number in self.records}
        self.feed.retain(self.feed.read_token(), own)

    @rule()
    def lazy_program_reads(self) -> None:
        changes = self.feed.changes_since(self.lazy_generation)
        self.lazy = follow(self.lazy, changes)
        self.lazy_generation = changes.generation
        assert self.lazy == self.feed.owned()

    @invariant()
    def steps_give_the_set(self) -> None:
        changes = self.feed.changes_since(self.generation)
        assert changes.generation >= self.generation
        assert bool(changes) == (changes.generation != self.generation)
        assert not changes.lost & changes.gained.keys()
        self.known = follow(self.known, changes)
        self.generation = changes.generation
        assert self.known == self.feed.owned()

    @invariant()
    def fenced_service_owns_nothing(self) -> None:
        if not self.fence.may_act:
            assert not self.feed.owned()
            assert not self.feed.is_complete

    @invariant()
    def nothing_else_is_owned(self) -> None:
        """Also if a refresh ends that began before a node was lost."""
        own = {world.uuid(number) for number in self.records}
        assert self.feed.owned().keys() <= own

    @invariant()
    def epochs_are_the_current_one(self) -> None:
        for view in self.feed.owned().values():
            assert view.epoch == self.epoch


TestLaws = FeedMachine.TestCase
TestLaws.settings = hypothesis.settings(
    max_examples=150, stateful_step_count=30, deadline=None
)


class TestFeed(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.fence = Fence(TTL, 1.0, self.clock)
        self.fence.open(self.clock(), 7)
        self.feed = Feed(self.fence)

    def list(self, *numbers: int, **options: object) -> None:
        nodes = {world.uuid(number): node(number) for number in numbers}
        self.feed.listed(self.feed.read_token(), {*nodes}, nodes, **options)

    def assert_owned(self, *numbers: int) -> None:
        self.assertEqual(set(map(world.uuid, numbers)), {*self.feed.owned()})

    def test_lapse_empties_it_until_the_next_refresh(self) -> None:
        """Another service may have taken the nodes meanwhile."""
        self.list(1)
        self.clock.elapse(TTL)
        token = self.feed.read_token()
        self.fence.extend(self.clock())
        self.assert_owned()
        self.feed.listed(token, {world.uuid(1)}, {world.uuid(1): node(1)})
        self.assert_owned()
        self.list(1)
        self.assert_owned(1)

    def test_older_read_adds_nothing_that_a_later_one_lacks(self) -> None:
        """The node was never in the feed, so it is not known as lost."""
        before = self.feed.read_token()
        self.feed.retain(self.feed.read_token(), set())
        self.feed.listed(before, {world.uuid(1)}, {world.uuid(1): node(1)})
        self.assert_owned()
        claim = Claim(node(1), reasons.Reason.EXCLUSIVE)
        self.feed.written(before, [claim])
        self.assert_owned()
        self.feed.written(self.feed.read_token(), [claim])
        self.assert_owned(1)

    def test_availability_is_that_on_record(self) -> None:
        nodes = {world.uuid(1): node(1)}
        record = world.record(1, 'host1')
        out = dataclasses.replace(record, unavailable=OUT)

        def listed(record: model.ComputeNode) -> tuple[str | None, bool]:
            self.feed.listed(
                *(self.feed.read_token(), set(nodes), nodes, None),
                {record.uuid: record},
            )
            return current()

        def written(found: Evaluation | None) -> tuple[str | None, bool]:
            self.feed.written(self.feed.read_token(), [Update(node(1), found)])
            return current()

        def current() -> tuple[str | None, bool]:
            view = self.feed.owned()[world.uuid(1)]
            return view.unavailable, view.is_reserved

        self.assertEqual((None, False), listed(record))
        before = self.feed.generation
        self.assertEqual((OUT, True), listed(out))
        self.assertIn(world.uuid(1), self.feed.changes_since(before).updated)
        # Without an evaluation the record keeps what it has.
        self.assertEqual((OUT, True), written(None))
        self.assertEqual((None, False), written(Evaluation()))
        in_use = Unavailable.IN_USE
        self.assertEqual((in_use, False), written(Evaluation(in_use)))
        self.assertEqual((OUT, True), written(Evaluation(OUT)))
        # A refresh that read the record before does not undo it.
        token = self.feed.read_token()
        written(Evaluation())
        self.feed.listed(token, set(nodes), nodes, None, {out.uuid: out})
        self.assertEqual((None, False), current())

    def test_without_readers_nothing_is_kept(self) -> None:
        self.feed = Feed(self.fence, has_readers=False)
        self.list(1)
        claim = Claim(node(2), reasons.Reason.EXCLUSIVE)
        self.feed.written(self.feed.read_token(), [claim])
        self.feed.completed(self.feed.read_token())
        self.assert_owned()
        self.assertFalse(self.feed.is_complete)

    def test_node_that_was_lost_in_between_is_listed_again(self) -> None:
        """Its record was another's for a moment, and is as it was."""
        self.list(1, 2)
        self.feed.retain(self.feed.read_token(), {world.uuid(2)})
        self.assert_owned(2)
        self.list(1, 2, among=())
        self.assert_owned(1, 2)

    def test_too_old_generation_is_a_reset(self) -> None:
        for round_ in range(3):
            self.list(*range(4000 * round_, 4000 * (round_ + 1)))
        first = self.feed.generation
        for _ in range(4):
            self.list(*range(8000))
            self.list()
        self.list(1)
        changes = self.feed.changes_since(first)
        self.assertEqual({world.uuid(1)}, {*changes.gained})
        self.assertEqual(
            {world.uuid(1)}, {*follow(dict.fromkeys('ab'), changes)} - {*'ab'}
        )
        unknown = self.feed.changes_since(self.feed.generation + 1)
        self.assertTrue(unknown.reset)
        self.assertEqual(dict(self.feed.owned()), dict(unknown.gained))


class TestFeedOfAService(service.ServiceCase):
    """With the real refresh and take-over."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(number) for number in range(1, 5)))
        self.host = self.start('host1', world.RING)

    def owned(self, one: service.Service | None = None) -> set[int]:
        return {int(u[-4:]) for u in (one or self.host).feed.owned()}

    def test_it_has_what_the_records_have(self) -> None:
        self.assertFalse(self.host.feed.is_complete)
        self.host.refresh()
        self.assertTrue(self.host.feed.is_complete)
        other = self.start('host2', world.RING)
        self.settle(self.host, other)
        for _ in range(2):
            self.host.refresh()
            other.refresh()
        owners = self.owners()
        for one in (self.host, other):
            self.assertEqual(
                {n for n, owner in owners.items() if owner == one.host},
                self.owned(one),
            )
        self.assertTrue(self.owned(other))

    def test_moved_away_node_is_noticed_without_a_refresh(self) -> None:
        self.host.refresh()
        refresh = mock.Mock()
        monitor = embedding_monitors.RecordMonitor(
            self.host.context, self.host.feed, refresh
        )
        self.host.member.registration.on_row = monitor.row_read
        for number in (1, 2):
            self.operator(
                "UPDATE compute_nodes SET host = 'x' "
                f"WHERE uuid = '{world.uuid(number)}'"
            )
            self.operator('UPDATE services SET revision = revision + 1')
            self.host.member.check_epoch()
            self.assertTrue(monitor._wanted.is_set())
            monitor.run_step()
            self.assertNotIn(number, self.owned())
        refresh.assert_not_called()
        self.operator("UPDATE compute_nodes SET host = 'host1'")
        monitor.run_step()
        refresh.assert_called_once()
