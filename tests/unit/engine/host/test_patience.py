"""The guard with patience: what it waits for, and what not."""

from __future__ import annotations

import threading
import time
from concurrent import futures

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host.action_guard import NO_INSTANCE, Permission
from tests.unit.engine import service, world

PATIENCE = 60.0
NODE, INSTANCE, OTHER = world.uuid(1), 'instance-1', 'instance-2'
Asked = futures.Future[Permission]


class PatienceCase(service.ServiceCase):
    """host1 owns node 1. Time stands still unless a test moves it."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1))
        self.host = self.start('host1')
        self.host.refresh()
        self.fence = self.host.fence
        self.guard = self.host.guard(
            world.interpret(world.ALL) or policy_set.PolicySet()
        )


class TestPatience(PatienceCase):
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


class TestInstance(PatienceCase):
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
