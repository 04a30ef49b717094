"""End of permissions, and answers of a guard that takes its time.

``tests/simulation`` lets events happen between any two steps of a guard.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host import action_guard
from ironic_ownership.engine.host.action_guard import Permission
from tests.unit.engine import service, world
from tests.unit.engine.service import Service

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
