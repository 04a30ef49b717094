"""End of permissions, and answers of a guard that takes its time.

The random stories let events happen between any two steps of a guard. Their
oracle reads the tables only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.host import action_guard
from ironic_ownership.engine.host.action_guard import Permission
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.contract.suites import fake_bare_metal
from tests.unit.db import sqlite
from tests.unit.engine import service, world
from tests.unit.engine.service import Service, Shared

LONGEST = 5.0
NODE = world.uuid(1)


def guard_of(host: Service) -> action_guard.Guard:
    policies = world.interpret(world.ALL)
    return host.guard(policies, LONGEST)


class PermissionCase(service.ServiceCase):
    """host1 owns node 1, which is deployed; host2 can get it."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, instance_uuid='i'))
        self.one = self.start('host1')
        self.one.refresh()
        self.two = self.start('host2')
        self.guard = guard_of(self.one)

    def down(self, down: bool = True) -> None:
        self.records.set_service('host1', actor='x', forced_down=down)

    def move(self) -> None:
        self.operator("UPDATE compute_nodes SET host = 'host2'")

    def assert_ended(self, found: Permission, *words: str) -> None:
        self.assertFalse(found.is_valid)
        self.assert_refused(found.confirm, *words)

    def assert_refused(self, call: Callable[..., object], *words: str) -> None:
        with self.assertRaises(exceptions.FencedError) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def ask(self) -> Permission:
        return self.guard.check(NODE)


class TestSlowIronic(PermissionCase):
    """Ironic takes its time to answer the guard."""

    def meanwhile(self, *events: Callable[[], object]) -> None:
        get = self.ironic.get

        def slowly(uuid: str) -> object:
            self.ironic.get = get
            for event in events:
                event()
            return get(uuid)

        self.ironic.get = slowly

    def test_it_is_refused_even_if_the_node_stayed(self) -> None:
        self.meanwhile(self.down, lambda: self.down(False), self.one.beat)
        self.assert_refused(self.ask, 'since it was permitted')

    def test_service_that_does_not_know_of_it_yet_is_refused(self) -> None:
        self.meanwhile(self.down, self.move, lambda: self.down(False))
        self.assert_refused(self.ask, 'was fenced')

    def test_node_that_was_released_meanwhile_is_refused(self) -> None:
        self.meanwhile(
            lambda: self.operator('UPDATE compute_nodes SET host=0')
        )
        self.assertRaises(exceptions.NotOwnerError, self.ask)

    def test_minute_with_heartbeats_is_no_reason_to_refuse(self) -> None:
        self.meanwhile(*(self.tick for _ in range(12)))
        self.assertTrue(self.ask().is_valid)

    def tick(self) -> None:
        self.shared.clock.elapse(5)
        self.one.beat()


class TestPermission(PermissionCase):
    def test_it_names_node_service_and_epoch(self) -> None:
        found = self.ask()
        epoch = self.records.service('host1').epoch
        self.assertEqual(
            (NODE, 'host1', epoch), (found.node.uuid, found.host, found.epoch)
        )

    def test_it_lasts_for_one_heartbeat_interval(self) -> None:
        found = self.ask()
        self.assertEqual(self.shared.clock() + LONGEST, found.deadline)
        self.assertEqual(LONGEST, found.remaining)
        self.shared.clock.elapse(LONGEST)
        self.assertFalse(found.is_valid)

    def test_it_does_not_outlive_the_lease(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN - 1)
        found = self.ask()
        self.assertEqual(1, found.remaining)
        self.one.beat()
        self.assertEqual(1, found.remaining)

    def test_it_counts_from_before_a_slow_read(self) -> None:
        self.read_slowly(LONGEST - 1)
        self.assertEqual(1, self.ask().remaining)

    def test_answer_that_is_too_old_is_no_permission(self) -> None:
        self.read_slowly(LONGEST)
        self.assert_refused(self.ask, 'too late')

    def read_slowly(self, seconds: float) -> None:
        read = self.records.service_and_node

        def slowly(*args: str) -> object:
            found = read(*args)
            self.shared.clock.elapse(seconds)
            return found

        self.records.service_and_node = slowly

    def test_confirmed_one_lasts_on(self) -> None:
        found = self.ask()
        for _ in range(10):
            self.shared.clock.elapse(LONGEST + 1)
            self.one.beat()
            self.assertFalse(found.is_valid)
            found.confirm()
            self.assertEqual(LONGEST, found.remaining)

    def test_records_that_do_not_answer_confirm_nothing(self) -> None:
        found = self.ask()
        down = exceptions.RecordsUnavailableError('down')

        def fail(*args: str) -> None:
            raise down

        self.records.service_and_node = fail
        self.assertRaises(exceptions.RecordsUnavailableError, found.confirm)
        self.assertEqual(LONGEST, found.remaining)

    def test_it_ends_when_the_process_learns_of_a_fence(self) -> None:
        found = self.ask()
        self.down()
        self.assertTrue(found.is_valid)
        self.one.member.check_epoch()
        self.assert_ended(found, 'forced down')

    def test_it_does_not_come_back_with_the_same_epoch(self) -> None:
        """As if the records had been restored from a backup."""
        found = self.ask()
        self.one.fence.drop()
        self.one.fence.open(self.shared.clock(), found.epoch)
        self.assert_ended(found, 'has registered again')

    def test_it_ends_with_the_membership_and_with_the_process(self) -> None:
        found = self.ask()
        self.shared.store.rows.clear()
        self.one.member.beat()
        self.assert_ended(found, 'no valid membership')
        self.one.beat()
        found = self.ask()
        self.one.fence.close()
        self.assert_ended(found, 'has stopped to serve')
        self.one.beat()
        self.assertFalse(self.one.fence.may_act)

    def test_node_that_changed_owner_is_not_confirmed(self) -> None:
        found = self.ask()
        self.move()
        with self.assertRaises(exceptions.NotOwnerError):
            found.confirm()


_HOSTS = ('host1', 'host2')
_EVENT = st.sampled_from(
    [
        *itertools.product(('switch', 'take_over') * 2, _HOSTS),
        *itertools.product(('down', 'up', 'move', 'fence'), _HOSTS),
        *itertools.product(('check', 'beat', 'register', 'confirm'), _HOSTS),
        *(('elapse', seconds) for seconds in (0.5, 4.0, 6.0, 19.5, 21.0)),
    ]
)
_EVENTS = st.lists(_EVENT, max_size=2)
_GUARD = st.tuples(st.just('guard'), st.tuples(*[_EVENTS] * 5))
_STORY = st.lists(st.one_of(_EVENT, _GUARD), min_size=2, max_size=8)


class InterruptedRecords(SqlRecords):
    """Records in whose reads a story goes on.

    :ivar interrupt: called before and after each read of the guard.
    """

    def __init__(self, database: Any) -> None:
        super().__init__(database)
        self.interrupt: Callable[[], None] = lambda: None
        self.on_read: Callable[[], None] = lambda: None

    def service_and_node(self, host: str, uuid: str) -> Any:
        self.interrupt()
        found = super().service_and_node(host, uuid)
        self.on_read()
        self.interrupt()
        return found


class InterruptedIronic(fake_bare_metal.FakeBareMetal):
    """An Ironic that answers after a part of a story."""

    interrupt: Callable[[], None] = staticmethod(lambda: None)
    on_read: Callable[[], None] = staticmethod(lambda: None)

    def get(self, uuid: str) -> Any:
        self.interrupt()
        found = super().get(uuid)
        self.on_read()
        return found


class Story:
    """Two services, one node, and the rows of both after each event."""

    def __init__(self, test: sqlite.SqliteCase, database: Any) -> None:
        self.test, self.database = test, database
        now = FakeClock()
        ironic = fake_bare_metal.FakeBareMetal(
            [world.node(1, instance_uuid='i')]
        )
        self.shared = Shared(
            now, memory.MemoryStore(now), SqlRecords(database), ironic
        )
        self.history: list[tuple[Any, ...]] = []
        self.hosts = {name: self.build(name) for name in ('host1', 'host2')}
        for host in self.hosts.values():
            host.beat()
        self.hosts['host1'].refresh()
        self.permissions: list[tuple[Permission, int, float]] = []
        self.busy: set[str] = set()
        self.note()

    def build(self, name: str) -> Service:
        return Service(
            name,
            world.ALL,
            self.shared,
            InterruptedRecords(self.database),
            InterruptedIronic(self.shared.ironic.nodes.values()),
        )

    def play(self, events: Any) -> None:
        for name, *args in events:
            getattr(self, name)(*args)
            self.note()
            self.compare()

    def note(self) -> None:
        with self.database.engine.connect() as conn:
            rows = conn.execute(
                sa.text(
                    'SELECT host, epoch, fenced, forced_down FROM services'
                )
            )
            services = {r.host: tuple(r)[1:] for r in rows}
            owner = conn.execute(
                sa.text('SELECT host FROM compute_nodes')
            ).scalar()
        self.history.append((services, owner))

    def was_right(self, host: str, first: int, last: int) -> bool:
        """Tell whether a host owned the node, and was never fenced."""
        spans = [
            (services[host], owner)
            for services, owner in self.history[first : last + 1]
        ]
        (epoch, *_), _ = spans[0]
        return spans[-1][1] == host and all(
            right == (epoch, 0, 0) for right, _ in spans
        )

    def compare(self) -> None:
        """See that a permission that the records contradict is short."""
        last = len(self.history) - 1
        for found, began, read in self.permissions:
            if found.is_valid and not self.was_right(found.host, began, last):
                self.test.assertLess(self.shared.clock() - read, LONGEST)

    def guard(self, parts: Any) -> None:
        """Ask the guard of the owner; a part happens at each of its steps."""
        name = self.history[-1][1]
        if name in self.busy:
            return
        self.busy.add(name)
        host = self.hosts[name]
        records, ironic = host.context.ports.records, host.context.ports.ironic
        began, reads = len(self.history) - 1, []
        remaining: Iterator[Any] = iter(parts)

        def interrupt() -> None:
            self.play(next(remaining, ()))

        def on_read() -> None:
            reads.append((len(self.history) - 1, self.shared.clock()))

        records.interrupt = ironic.interrupt = interrupt
        records.on_read = ironic.on_read = on_read
        try:
            found = guard_of(host).check(NODE)
        except exceptions.OwnershipError:
            return
        finally:
            records.interrupt = ironic.interrupt = lambda: None
            records.on_read = ironic.on_read = lambda: None
            self.busy.discard(name)
        last, at = reads[-1]
        self.test.assertTrue(self.was_right(name, began, last), self.history)
        self.test.assertLess(self.shared.clock() - at, LONGEST)
        self.permissions.append((found, began, at))

    def confirm(self, name: str) -> None:
        last = len(self.history) - 1
        for place, (found, began, _) in enumerate(self.permissions):
            if found.host != name:
                continue
            try:
                found.confirm()
            except exceptions.OwnershipError:
                continue
            self.test.assertTrue(self.was_right(name, began, last))
            self.permissions[place] = found, began, self.shared.clock()

    def down(self, name: str) -> None:
        self.shared.records.set_service(name, actor='x', forced_down=True)

    def up(self, name: str) -> None:
        self.shared.records.set_service(name, actor='x', forced_down=False)

    def move(self, name: str) -> None:
        """Move the node from a service that is forced down."""
        services, owner = self.history[-1]
        if owner and services[owner][2]:
            self.fence(owner)
            sqlite.run_sql(
                self.database, f"UPDATE compute_nodes SET host = '{name}'"
            )

    def switch(self, name: str) -> None:
        """Move the node to a service, with its owner forced down for that."""
        owner = self.history[-1][1]
        steps = [('down', owner), ('move', name), ('up', owner)]
        self.play([*steps, ('register', owner)])

    def take_over(self, name: str) -> None:
        """Let a service die in its sleep, and return without its node."""
        owner = self.history[-1][1]
        self.elapse(service.TTL)
        self.play([('switch', name), ('register', owner)])

    def fence(self, name: str) -> None:
        sqlite.run_sql(
            self.database,
            'UPDATE services SET epoch = epoch + 1, fenced = 1 '
            f"WHERE host = '{name}'",
        )

    def check(self, name: str) -> None:
        self.hosts[name].member.check_epoch()
        last = len(self.history) - 1
        for found, began, _ in self.permissions:
            # The rest of the record is not what this poll reads.
            if found.host == name and self.history[-1][1] == name:
                self.test.assertFalse(
                    found.is_valid and not self.was_right(name, began, last)
                )

    def beat(self, name: str) -> None:
        self.hosts[name].member.beat()

    def register(self, name: str) -> None:
        self.hosts[name].beat()

    def elapse(self, seconds: float) -> None:
        self.shared.clock.elapse(seconds)


class TestStories(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()

    def play(self, events: Any) -> Story:
        for table in ('instances', 'compute_nodes', 'services', 'events'):
            sqlite.run_sql(self.database, f'DELETE FROM {table}')
        story = Story(self, self.database)
        story.play(events)
        return story

    @given(_STORY)
    def test_permission_is_what_the_records_said_all_the_time(
        self, events: Any
    ) -> None:
        self.play(events)

    def test_plain_story_ends_with_one_permission(self) -> None:
        story = self.play(
            [
                ('guard', []),
                ('down', 'host1'),
                ('move', 'host2'),
                ('guard', []),
                ('up', 'host1'),
                ('register', 'host1'),
            ]
        )
        one, two = (found for found, *_ in story.permissions)
        self.assertEqual(('host1', 'host2'), (one.host, two.host))
        self.assertEqual((False, True), (one.is_valid, two.is_valid))
