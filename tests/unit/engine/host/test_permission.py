"""Patience of a guard, and the end of its permissions.

``tests/simulation`` lets events happen between any two steps of a guard.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.action_guard import NO_INSTANCE, Permission
from tests.unit.engine import service, world

LONGEST, PATIENCE = 5.0, 60.0
NODE, INSTANCE, OTHER = world.uuid(1), 'instance-1', 'instance-2'
DOWN = exceptions.RecordsUnavailableError('down')
Asked = futures.Future[Permission]


class GuardCase(service.ServiceCase):
    """host1 owns node 1. Time stands still unless a test moves it."""

    instance: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, instance_uuid=self.instance))
        self.host = self.start('host1')
        self.host.refresh()
        self.fence = self.host.fence
        self.guard = self.host.process.guard


class TestPermission(GuardCase):
    """The node is deployed."""

    instance = 'i'

    def down(self, down: bool = True) -> None:
        self.records.set_service('host1', actor='x', forced_down=down)

    def move(self, to: str = "'host2'") -> None:
        self.operator(f'UPDATE compute_nodes SET host = {to}')

    def tick(self) -> None:
        self.shared.clock.elapse(5)
        self.host.beat()

    def ask(self) -> Permission:
        return self.guard.check(NODE)

    def refuse(self, call: Callable[..., object], words: str) -> None:
        with self.assertRaises(exceptions.FencedError) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def test_what_happens_while_ironic_answers_counts(self) -> None:
        for words, events in (
            # Even if the node stayed.
            (
                'since it was permitted',
                [self.down, lambda: self.down(False), self.tick],
            ),
            # The service does not know of it yet.
            ('was fenced', [self.down, self.move, lambda: self.down(False)]),
            ('unowned', [lambda: self.move('NULL')]),
            ('', [self.tick] * 12),
        ):
            with self.subTest(words):
                self.setUp()

                def happen(events=events) -> None:
                    for event in events:
                        event()

                self.meanwhile(self.ironic, 'get', happen)
                if not words:
                    self.assertTrue(self.ask().is_valid)
                elif words == 'unowned':
                    self.assertRaises(exceptions.NotOwnerError, self.ask)
                else:
                    self.refuse(self.ask, words)

    def test_it_lasts_for_one_heartbeat_interval_unless_confirmed(
        self,
    ) -> None:
        found = self.ask()
        epoch = self.records.service('host1').epoch
        self.assertEqual(
            (NODE, 'host1', epoch), (found.node.uuid, found.host, found.epoch)
        )
        self.assertEqual(self.shared.clock() + LONGEST, found.deadline)
        for _ in range(10):
            self.assertEqual(LONGEST, found.remaining)
            self.tick()
            self.assertFalse(found.is_valid)
            found.confirm()

    def test_it_does_not_outlive_the_lease(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN - 1)
        found = self.ask()
        self.assertEqual(1, found.remaining)
        self.host.beat()
        self.assertEqual(1, found.remaining)

    def read_while(self, event: Callable[[], object]) -> None:
        """Let something happen after each answer of the records."""
        read = type(self.records).service_and_node

        def slowly(*args: str) -> object:
            found = read(self.records, *args)
            event()
            return found

        self.records.service_and_node = slowly

    def test_it_counts_from_before_a_slow_read(self) -> None:
        elapse = self.shared.clock.elapse
        self.read_while(lambda: elapse(LONGEST - 1))
        self.assertEqual(1, self.ask().remaining)
        self.read_while(lambda: elapse(LONGEST))
        self.refuse(self.ask, 'too late')
        self.read_while(self.fence.drop)
        self.refuse(self.ask, 'no valid membership')

    def test_records_that_do_not_answer_confirm_nothing(self) -> None:
        found = self.ask()

        def fail(*args: str) -> None:
            raise DOWN

        self.records.service_and_node = fail
        self.assertRaises(exceptions.RecordsUnavailableError, found.confirm)
        self.assertEqual(LONGEST, found.remaining)

    def test_each_end(self) -> None:
        for words in (
            'forced down',
            'has registered again',
            'no valid membership',
            'has stopped to serve',
        ):
            with self.subTest(words):
                self.setUp()
                found = self.ask()
                self.end(words, found)
                self.assertFalse(found.is_valid)
                self.refuse(found.confirm, words)

    def end(self, words: str, found: Permission) -> None:
        match words:
            case 'forced down':
                self.down()
                self.assertTrue(found.is_valid)
                self.host.member.check_epoch()
            case 'has registered again':
                # As if the records had been restored from a backup.
                self.fence.drop()
                self.fence.open(self.shared.clock(), found.epoch)
            case 'no valid membership':
                self.shared.store.rows.clear()
                self.host.member.beat()
            case _:
                self.fence.close()

    def test_node_that_changed_owner_is_not_confirmed(self) -> None:
        found = self.ask()
        self.move()
        self.assertRaises(exceptions.NotOwnerError, found.confirm)


class TestPatience(GuardCase):
    def setUp(self) -> None:
        super().setUp()
        self.refused = threading.Event()
        wait = self.fence.changes.wait

        def wait_for_change(seen: int, seconds: float) -> object:
            self.refused.set()
            return wait(seen, seconds)

        self.fence.changes.wait = wait_for_change  # type: ignore[assignment]
        self.executor = futures.ThreadPoolExecutor(32)
        self.addCleanup(self.executor.shutdown)

    def ask(self, patience: float = PATIENCE) -> Asked:
        return self.executor.submit(self.guard.check, NODE, patience=patience)

    def wait_in(self, number: int) -> list[Asked]:
        """Ask in threads; one has been refused at least once, and waits."""
        asked = [self.ask() for _ in range(number)]
        self.assertTrue(self.refused.wait(PATIENCE))
        self.assertFalse(asked[0].done())
        return asked

    def test_lost_right_is_waited_for(self) -> None:
        self.fence.drop()
        asked = self.wait_in(20)
        self.host.member.check_epoch()
        epoch = self.records.register(
            'host1', world.ALL, incarnation=self.host.member.incarnation
        )
        self.fence.open(self.shared.clock(), epoch)
        for one in asked:
            self.assertEqual(epoch, one.result(PATIENCE).epoch)

    def test_record_and_ironic_are_waited_for(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        (asked,) = self.wait_in(1)
        self.operator("UPDATE compute_nodes SET host = 'host1'")
        self.refused.clear()
        self.assertTrue(self.refused.wait(PATIENCE))
        self.ironic.fail_with = None
        self.assertEqual('host1', asked.result(PATIENCE).host)

    def refuse_at_once(self, error: type[Exception]) -> Exception:
        started = time.monotonic()
        with self.assertRaises(error) as caught:
            self.ask().result()
        self.assertLess(time.monotonic() - started, PATIENCE)
        return caught.exception

    def test_what_only_others_can_change_is_refused_at_once(self) -> None:
        self.operator("UPDATE compute_nodes SET host = 'host2'")
        refused = self.refuse_at_once(exceptions.NotOwnerError)
        self.assertEqual('host2', refused.owner)
        self.operator("UPDATE compute_nodes SET host = 'host1'")
        self.ironic.nodes.clear()
        self.refuse_at_once(exceptions.NotFoundError)
        self.fence.close()
        self.refuse_at_once(exceptions.FencedError)

    def test_wait_ends_with_the_process_or_the_patience(self) -> None:
        for end in ('process', 'patience'):
            with self.subTest(end):
                self.setUp()
                self.fence.drop()
                asked = self.wait_in(5)
                if end == 'process':
                    self.fence.close()
                else:
                    self.shared.clock.elapse(PATIENCE)
                    self.fence.changes.notify()
                for one in asked:
                    self.assertIsInstance(
                        one.exception(PATIENCE), exceptions.FencedError
                    )

    def test_frozen_process_that_wakes_up_is_refused(self) -> None:
        """Its lease has expired, and its patience with it."""
        reading, woken = threading.Event(), threading.Event()
        self.meanwhile(
            self.ironic,
            'get',
            lambda: (reading.set(), woken.wait(PATIENCE)),
        )
        asked = self.ask(10.0)
        self.assertTrue(reading.wait(PATIENCE))
        self.shared.clock.elapse(service.TTL)
        woken.set()
        self.assertIsInstance(
            asked.exception(PATIENCE), exceptions.FencedError
        )


class TestInstance(GuardCase):
    def place(self, instance: str | None) -> None:
        self.ironic.put(world.node(1, instance_uuid=instance))

    def check(self, instance: str | None) -> Permission:
        return self.guard.check(NODE, instance_uuid=instance)

    def refuse(self, instance: str, found: str | None, words: str) -> None:
        with self.assertRaises(exceptions.OtherInstanceError) as caught:
            self.check(instance)
        self.assertEqual(found, caught.exception.found)
        self.assertIn(words, str(caught.exception))

    def test_instance_that_is_no_longer_on_the_node_is_refused(self) -> None:
        self.refuse(INSTANCE, None, 'has no instance')
        # Nor if only the record still has it.
        self.place(INSTANCE)
        self.host.refresh()
        self.check(INSTANCE)
        self.place(None)
        self.refuse(INSTANCE, None, 'has no instance')
        self.check(None)

    def test_no_instance_can_be_required(self) -> None:
        self.check(NO_INSTANCE)
        self.place(INSTANCE)
        self.check(None)
        self.refuse(NO_INSTANCE, INSTANCE, 'and not none')
        self.host.refresh()
        self.place(None)
        self.check(NO_INSTANCE)

    def test_other_instance_is_refused_wherever_it_is_found(self) -> None:
        self.place(INSTANCE)
        self.refuse(OTHER, INSTANCE, INSTANCE)
        self.host.refresh()
        self.place(None)
        self.assertRaises(exceptions.OtherInstanceError, self.check, OTHER)
        # Also if Ironic has it, and the record another one.
        self.place(OTHER)
        self.refuse(OTHER, INSTANCE, INSTANCE)
