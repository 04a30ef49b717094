"""Incremental reads find the same fleet as a list of all nodes."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable, Sequence
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import ChangedNode, LatestChanges
from ironic_ownership.engine.host import fleet_reader
from ironic_ownership.engine.host.fleet_reader import FleetReader
from ironic_ownership_plugin_kit import fakes
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import world

EVERYTHING = model.Scope()
SCOPES = (
    EVERYTHING,
    model.Scope(shard='a'),
    model.Scope(conductor_group='g'),
    model.Scope(shard='a', conductor_group='g'),
)
INTERVAL = 3600.0
SKEW, DELAY = 20.0, 15.0


class Ironic(fake_bare_metal.FakeBareMetal):
    """An Ironic whose processes have clocks of their own.

    :ivar skew: seconds by which the clock of the next writer is ahead.
    :ivar nulls_first: as on PostgreSQL.
    :ivar meanwhile: called before later pages are read.
    """

    def __init__(self) -> None:
        self.clocks = fakes.FakeClock(100_000.0)
        self.skew = self.server_skew = 0.0
        self.nulls_first = False
        self.meanwhile: Callable[[], object] = lambda: None
        super().__init__(clock=lambda: self.clocks.now + self.skew)

    def latest_changes(
        self, scope: model.Scope, limit: int
    ) -> LatestChanges | None:
        page = super().latest_changes(scope, 10**6)
        if page is None:
            return None
        rows = list(page.nodes)
        if self.nulls_first:
            rows.sort(key=lambda row: row.updated_at is not None)
        return LatestChanges(
            rows[:limit], self.clocks.now + self.server_skew, len(rows) < limit
        )

    def changed_after(
        self, scope: model.Scope, uuid: str, most: int
    ) -> Sequence[ChangedNode] | None:
        self.meanwhile()
        found = super().changed_after(scope, uuid, most)
        if not found or not self.nulls_first:
            return found
        return [
            *found,
            *(
                ChangedNode(node, None)
                for node in self._within(scope)
                if node.uuid not in self.changed_at
            ),
        ]


class FleetCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = Ironic()
        self.ironic.put(*map(world.node, range(1, 41)))
        self.pass_long('n')
        self.reader = FleetReader(
            self.ironic, 'host1', INTERVAL, self.ironic.clocks
        )
        self.assertTrue(self.read())

    def pass_long(self, name: str) -> None:
        """Change every node, long before the next read."""
        for number in range(1, 41):
            self.ironic.put(world.node(number, name=f'{name}{number}'))
            self.ironic.clocks.elapse(10)
        self.ironic.clocks.elapse(1000)

    def read(self, scope: model.Scope = EVERYTHING) -> bool:
        """Read, compare with a list of all, and tell if all were listed."""
        self.ironic.clocks.elapse(60)
        self.ironic.calls.clear()
        fleet = self.reader.read(scope)
        self.assertCountEqual(
            fake_bare_metal.FakeBareMetal.scan(self.ironic, scope),
            fleet.nodes.values(),
        )
        return fleet.changed is None

    def assert_requests(self, *methods: str) -> None:
        """Read without a list of all, and compare the requests."""
        self.assertFalse(self.read())
        self.assertEqual([*methods], [m for m, _ in self.ironic.calls][:-1])


class TestReads(FleetCase):
    def test_nothing_changed_costs_two_requests(self) -> None:
        self.assert_requests('latest_changes', 'shard_counts')
        before = self.reader.read(EVERYTHING)
        self.assertIs(before.nodes, self.reader.read(EVERYTHING).nodes)

    def test_changes_are_found_and_the_page_grows(self) -> None:
        self.ironic.put(*(world.node(n, shard='x') for n in range(1, 31)))
        self.assert_requests(*['latest_changes'] * 3, 'shard_counts')
        self.assert_requests('latest_changes', 'shard_counts')

    def test_new_node_is_found_by_the_counts(self) -> None:
        self.ironic.put(world.node(100), world.node(101))
        self.assert_requests('latest_changes', 'shard_counts', 'newest')
        self.assertFalse(self.read())

    def test_no_request_without_the_shard_lists_nodes(self) -> None:
        scope = model.Scope(shard='a', conductor_group='g')
        for number in (5, 6):
            self.ironic.put(world.node(number, shard='a'))
            self.read(scope)
            for method, argument in self.ironic.calls:
                if method in ('latest_changes', 'newest'):
                    self.assertEqual('a', argument[0].shard)
                elif method == 'scan':
                    self.assertEqual('a', argument.shard)

    def test_every_node_is_listed_again_within_the_interval(self) -> None:
        for host in ('host1', 'host2', 'host3'):
            reader = FleetReader(
                self.ironic, host, INTERVAL, self.ironic.clocks
            )
            reader.read(EVERYTHING)
            self.ironic.clocks.elapse(INTERVAL / 2 - 1)
            self.assertIsNotNone(reader.read(EVERYTHING).changed)
            self.ironic.clocks.elapse(INTERVAL / 2 + 1)
            self.assertIsNone(reader.read(EVERYTHING).changed)

    def test_zero_lists_every_node_every_time(self) -> None:
        self.reader.interval = 0.0
        for _ in range(2):
            self.assertTrue(self.read())
            self.assertEqual('scan', self.ironic.calls[0][0])

    def test_outage_keeps_what_is_known(self) -> None:
        down = exceptions.IronicUnavailableError('down')
        for method in ('latest_changes', 'shard_counts'):
            self.ironic.failures = {method: down}
            self.assertRaises(type(down), self.reader.read, EVERYTHING)
        self.ironic.failures = {}
        self.ironic.put(world.node(5, shard='x'))
        self.assertFalse(self.read())


class TestManyChanges(FleetCase):
    """More changes than are on the largest page."""

    def setUp(self) -> None:
        self.enterContext(mock.patch.object(fleet_reader, 'LIMITS', (3, 6)))
        super().setUp()

    def change(self, *numbers: int) -> None:
        for number in numbers:
            self.ironic.clocks.elapse(0.1)
            self.ironic.put(world.node(number, shard='x'))

    def test_they_are_read_from_an_old_one_on(self) -> None:
        self.change(*range(1, 7))
        self.assert_requests(
            *['latest_changes'] * 2, 'changed_after', 'shard_counts'
        )
        # They are older than the overlap now.
        self.change(30, 31)
        self.assert_requests('latest_changes', 'shard_counts')

    def test_more_than_a_quarter_of_the_nodes_means_a_whole_list(self) -> None:
        self.change(*range(1, 12))
        self.assertTrue(self.read())

    def test_node_that_changes_again_meanwhile_is_as_it_is_then(self) -> None:
        self.change(*range(1, 7))
        self.ironic.meanwhile = lambda: self.ironic.put(
            world.node(4, shard='x', instance_uuid='new')
        )
        self.assertFalse(self.read())

    def test_old_node_that_changes_meanwhile_proves_nothing(self) -> None:
        # The first of them is where the list begins.
        for number in (38, 39, 40):
            self.change(*range(1, 7))
            self.ironic.meanwhile = lambda n=number: self.change(n, 9)
            self.assertEqual(number == 38, self.read())
            self.reader.require_whole()
            self.ironic.clocks.elapse(1000)
            self.ironic.meanwhile = lambda: None
            self.pass_long(f'{number} ')
            self.assertTrue(self.read())
        self.change(*range(1, 7))
        self.ironic.meanwhile = lambda: self.ironic.nodes.pop(world.uuid(38))
        self.assertTrue(self.read())


class TestWhatDoesNotAddUp(FleetCase):
    """All nodes are listed."""

    def test_deleted_nodes(self) -> None:
        """With new ones among them, or not."""
        for deleted, created in ((1, ()), (2, (100, 101, 102))):
            del self.ironic.nodes[world.uuid(deleted)]
            self.ironic.put(*map(world.node, created))
            self.assertTrue(self.read())
            self.assertFalse(self.read())

    def test_too_many_changes(self) -> None:
        self.ironic.put(*map(world.node, range(100, 1200)))
        self.read()
        self.ironic.put(*(world.node(n, shard='x') for n in range(100, 1200)))
        self.assertTrue(self.read())

    def test_server_without_the_order_of_changes_or_counts(self) -> None:
        refused = exceptions.IronicError('403')
        for values in (
            {'clock': None},
            {'failures': {'shard_counts': refused}},
            {'server_skew': fleet_reader.LONGEST_CLOCK_STEP + 1},
        ):
            with self.subTest(values):
                self.setUp()
                vars(self.ironic).update(values)
                self.assertTrue(self.read())

    def test_list_that_changes_meanwhile_is_no_baseline(self) -> None:
        self.reader.require_whole()
        counts = iter([{None: 40}, {None: 41}, {None: 40}, {None: 40}])
        self.ironic.shard_counts = lambda: next(counts)
        self.assertTrue(self.read())
        self.assertTrue(self.read())

    def test_credential_that_sees_less(self) -> None:
        hidden = world.uuid(40)
        visible = self.ironic._within
        self.ironic._within = lambda scope: [
            node for node in visible(scope) if node.uuid != hidden
        ]
        self.assertTrue(self.read())

    def test_database_of_an_earlier_time(self) -> None:
        self.ironic.put(world.node(7, shard='x'))
        self.assertFalse(self.read())
        self.ironic.put(world.node(7, name='n7'))
        self.ironic.changed_at[world.uuid(7)] = 100_060.0
        self.assertTrue(self.read())

    def test_order_that_is_not_by_time(self) -> None:
        self.ironic.put(world.node(7, shard='x'))
        ordered = self.ironic.latest_changes

        def shuffled(scope: model.Scope, limit: int) -> LatestChanges | None:
            page = ordered(scope, limit)
            assert page is not None
            return dataclasses.replace(page, nodes=page.nodes[::-1])

        self.ironic.latest_changes = shuffled
        self.assertTrue(self.read())


OPERATIONS = (
    *('create', 'change', 'delete', 'shard', 'group'),
    *('many', 'read') * 3,
)


@st.composite
def histories(draw: st.DrawFn) -> Sequence[tuple[str, int, float, float]]:
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(OPERATIONS),
                st.integers(0, 29),
                st.floats(-SKEW, SKEW),
                st.floats(0, DELAY),
            ),
            min_size=5,
            max_size=40,
        )
    )


class TestEveryHistory(unittest.TestCase):
    """Writers with other clocks, and commits that become visible late.

    The one limit: as many nodes deleted as created since the read before, and
    the new ones never changed. Then both stay unseen until the next list of
    all nodes, or until one of the new nodes changes.
    """

    def setUp(self) -> None:
        super().setUp()
        # Fewer nodes than a page would always have all changes.
        self.enterContext(mock.patch.object(fleet_reader, 'LIMITS', (4, 5)))

    @given(
        histories(), st.sampled_from(SCOPES), st.booleans(), st.floats(1, 200)
    )
    def test_fleet_is_that_of_a_list_of_all(
        self,
        history: Sequence[tuple[str, int, float, float]],
        scope: model.Scope,
        nulls_first: bool,
        pause: float,
    ) -> None:
        ironic = Ironic()
        ironic.nulls_first = nulls_first
        for n in range(60):
            ironic.put(world.node(n, shard='a', conductor_group='g'))
            if n % 10:
                ironic.put(self._changed(ironic.nodes[world.uuid(n)], '', n))
            ironic.clocks.elapse(1)
        ironic.clocks.elapse(pause)
        reader = FleetReader(ironic, 'host1', 10**9, ironic.clocks)
        reader.read(scope)
        for number, (kind, one, skew, delay) in enumerate(history):
            uuid = world.uuid(one)
            if kind == 'read':
                ironic.server_skew = skew / 2
                self._compare(ironic, reader, scope)
                ironic.clocks.elapse(pause)
            elif kind == 'create':
                ironic.put(
                    world.node(100 + number, shard='a', conductor_group='g')
                )
            elif kind == 'delete':
                ironic.nodes.pop(uuid, None)
            else:
                ironic.skew = skew - delay
                for n in range(one, one + 8 if kind == 'many' else one + 1):
                    if node := ironic.nodes.get(world.uuid(n)):
                        ironic.put(self._changed(node, kind, number))
        self._compare(ironic, reader, scope)
        reader.require_whole()
        self.assertCountEqual(
            ironic.scan(scope), reader.read(scope).nodes.values()
        )

    def _compare(
        self, ironic: Ironic, reader: FleetReader, scope: model.Scope
    ) -> None:
        fleet = dict(reader.read(scope).nodes)
        truth = {node.uuid: node for node in ironic.scan(scope)}
        for uuid in fleet.keys() & truth.keys():
            self.assertEqual(truth[uuid], fleet[uuid])
        unseen, stale = (
            truth.keys() - fleet.keys(),
            fleet.keys() - truth.keys(),
        )
        self.assertFalse(unseen & ironic.changed_at.keys())
        counted = model.Scope(shard=scope.shard)
        for uuid in stale:
            node = ironic.nodes.get(uuid)
            self.assertFalse(
                node and counted.matches(node.shard, node.conductor_group)
            )
        if scope.conductor_group is None:
            self.assertEqual(len(unseen), len(stale))

    def _changed(self, node: model.Node, kind: str, number: int) -> model.Node:
        if kind == 'shard':
            other = 'b' if node.shard == 'a' else 'a'
            return dataclasses.replace(node, shard=other)
        if kind == 'group':
            other = '' if node.conductor_group else 'g'
            return dataclasses.replace(node, conductor_group=other)
        return dataclasses.replace(node, name=f'change {number}')
