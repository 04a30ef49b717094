"""The guard with patience: what it waits for, and what not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
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
        self.guard = self.host.guard(
            world.interpret(world.ALL) or policy_set.PolicySet()
        )
        self.refused = threading.Event()
        changes = self.host.fence.changes
        wait = changes.wait

        def wait_for_change(seen: int, seconds: float) -> object:
            self.refused.set()
            return wait(seen, seconds)

        changes.wait = wait_for_change  # type: ignore[assignment]
        self.executor = futures.ThreadPoolExecutor(32)
        self.addCleanup(self.executor.shutdown)

    def ask(self, patience: float = PATIENCE) -> Asked:
        return self.executor.submit(self.guard.check, NODE, patience=patience)

    def waits(self, asked: Asked) -> None:
        """Assert that it has been refused at least once, and waits."""
        self.assertTrue(self.refused.wait(PATIENCE))
        self.assertFalse(asked.done())


class TestPatience(PatienceCase):
    def test_lost_right_is_waited_for(self) -> None:
        self.host.fence.drop()
        asked = [self.ask() for _ in range(20)]
        self.waits(asked[0])
        self.host.member.check_epoch()
        epoch = self.records.register(
            'host1', world.ALL, incarnation=self.incarnation()
        )
        self.host.fence.open(self.shared.clock(), epoch)
        for one in asked:
            self.assertEqual(epoch, one.result(PATIENCE).epoch)

    def incarnation(self) -> str:
        return self.host.member.registration.incarnation

    def test_record_that_is_not_there_yet_is_waited_for(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        asked = self.ask()
        self.waits(asked)
        self.operator("UPDATE compute_nodes SET host = 'host1'")
        self.assertEqual('host1', asked.result(PATIENCE).host)

    def test_outage_of_ironic_is_waited_for(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        asked = self.ask()
        self.waits(asked)
        self.ironic.fail_with = None
        asked.result(PATIENCE)

    def refused_at_once(
        self, error: type[Exception], ask: Callable[[], object]
    ) -> Exception:
        started = time.monotonic()
        with self.assertRaises(error) as caught:
            ask()
        self.assertLess(time.monotonic() - started, PATIENCE)
        return caught.exception

    def test_what_only_others_can_change_is_refused_at_once(self) -> None:
        self.operator("UPDATE compute_nodes SET host = 'host2'")
        refused = self.refused_at_once(
            exceptions.NotOwnerError, lambda: self.ask().result()
        )
        self.assertEqual('host2', refused.owner)
        self.operator("UPDATE compute_nodes SET host = 'host1'")
        self.ironic.nodes.clear()
        self.refused_at_once(
            exceptions.NotFoundError, lambda: self.ask().result()
        )
        self.host.fence.close()
        self.refused_at_once(
            exceptions.FencedError, lambda: self.ask().result()
        )

    def test_wait_ends_when_the_place_is_lost_for_good(self) -> None:
        self.host.fence.drop()
        asked = [self.ask(1e6) for _ in range(5)]
        self.waits(asked[0])
        self.host.fence.close()
        for one in asked:
            self.assertIsInstance(
                one.exception(PATIENCE), exceptions.FencedError
            )

    def test_wait_ends_when_the_patience_does(self) -> None:
        self.host.fence.drop()
        asked = self.ask()
        self.waits(asked)
        self.shared.clock.elapse(PATIENCE)
        self.host.fence.changes.notify()
        self.assertIsInstance(
            asked.exception(PATIENCE), exceptions.FencedError
        )

    def test_frozen_process_that_wakes_up_is_refused(self) -> None:
        """Its lease has expired, and its patience with it."""
        reading = threading.Event()
        woken = threading.Event()
        get = self.ironic.get

        def frozen(uuid: str) -> object:
            reading.set()
            woken.wait(PATIENCE)
            return get(uuid)

        self.ironic.get = frozen  # type: ignore[method-assign, assignment]
        asked = self.ask(10.0)
        self.assertTrue(reading.wait(PATIENCE))
        self.shared.clock.elapse(service.TTL)
        woken.set()
        self.assertIsInstance(
            asked.exception(PATIENCE), exceptions.FencedError
        )


class TestInstance(PatienceCase):
    def check(self, instance: str | None) -> Permission:
        return self.guard.check(NODE, instance_uuid=instance)

    def test_instance_on_the_node_is_permitted(self) -> None:
        self.ironic.put(world.node(1, instance_uuid=INSTANCE))
        for instance in (INSTANCE, None):
            self.check(instance)

    def test_instance_that_is_no_longer_on_the_node_is_refused(self) -> None:
        with self.assertRaises(exceptions.OtherInstanceError) as caught:
            self.check(INSTANCE)
        self.assertIsNone(caught.exception.found)
        self.assertIn('has no instance', str(caught.exception))
        # Nor if only the record still has it.
        self.ironic.put(world.node(1, instance_uuid=INSTANCE))
        self.host.refresh()
        self.ironic.put(world.node(1))
        self.assertRaises(exceptions.OtherInstanceError, self.check, INSTANCE)
        self.check(None)

    def test_no_instance_can_be_required(self) -> None:
        self.check(NO_INSTANCE)
        self.ironic.put(world.node(1, instance_uuid=INSTANCE))
        with self.assertRaises(exceptions.OtherInstanceError) as caught:
            self.check(NO_INSTANCE)
        self.assertEqual(INSTANCE, caught.exception.found)
        self.assertIn('and not none', str(caught.exception))
        self.host.refresh()
        self.ironic.put(world.node(1))
        self.check(NO_INSTANCE)

    def test_other_instance_is_refused_wherever_it_is_found(self) -> None:
        self.ironic.put(world.node(1, instance_uuid=INSTANCE))
        with self.assertRaises(exceptions.OtherInstanceError) as caught:
            self.check(OTHER)
        self.assertEqual(INSTANCE, caught.exception.found)
        self.host.refresh()
        self.ironic.put(world.node(1))
        self.assertRaises(exceptions.OtherInstanceError, self.check, OTHER)
