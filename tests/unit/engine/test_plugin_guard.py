from __future__ import annotations

import os
import threading
import types
import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions, model, policy, reasons
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.changes.case import Case, OwnerChange
from ironic_ownership.engine.changes.gates import evaluate
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.gates import refusals
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.engine import world
from tests.unit.engine.changes import test_gates

ODD = world.OddPolicy({})


def _calls_odd() -> object:
    return plugin_guard.faults_of(ODD, 'assign', lambda kind: "policy 'x'")


class TestFaults(unittest.TestCase):
    def fault_of(self, error: BaseException) -> exceptions.PluginFaultError:
        with (
            self.assertRaises(exceptions.PluginFaultError) as caught,
            _calls_odd(),
        ):
            raise error
        return caught.exception

    def test_any_error_is_a_fault_that_names_the_method(self) -> None:
        for error in (
            KeyError('its own mistake'),
            *(SystemExit(0), GeneratorExit(), BaseException('all')),
        ):
            fault = self.fault_of(error)
            self.assertIn(
                f"policy 'x': OddPolicy.assign failed: {type(error).__name__}",
                str(fault),
            )
            self.assertIs(error, fault.__cause__)

    def test_end_of_the_process_is_a_fault(self) -> None:
        with (
            self.assertRaises(exceptions.PluginFaultError) as caught,
            _calls_odd(),
        ):
            os._exit(0)
        self.assertIn('os._exit(0)', str(caught.exception))

    def test_process_that_a_plugin_started_can_end(self) -> None:
        with _calls_odd():
            pid = os.fork()
            if not pid:
                os._exit(7)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(7, os.waitstatus_to_exitcode(status))

    def test_interrupt_is_a_fault_but_in_the_main_thread(self) -> None:
        """Only the main thread gets the operator's."""
        caught: list[BaseException] = []
        thread = threading.Thread(
            target=lambda: caught.append(self.fault_of(KeyboardInterrupt()))
        )
        thread.start()
        thread.join(30)
        self.assertEqual(1, len(caught))
        with (
            # A program that another test ran here may have taken the signal.
            mock.patch(
                'ironic_ownership.contracts.calls._is_noted',
                return_value=False,
            ),
            self.assertRaises(KeyboardInterrupt),
            _calls_odd(),
        ):
            raise KeyboardInterrupt


class TestWatch(unittest.TestCase):
    def test_slow_plugin_is_named_during_the_call(self) -> None:
        received: list[str] = []
        requested = threading.Event()

        def tell(words: str) -> None:
            received.append(words)
            requested.set()

        with plugin_guard.watched(0.01, tell) as slow, _calls_odd():
            self.assertTrue(requested.wait(60))
        self.assertTrue(slow.is_set())
        self.assertEqual(["policy 'x': OddPolicy.assign"], received)

    def test_plugin_in_time_is_not_reported(self) -> None:
        received: list[str] = []
        with plugin_guard.watched(600, received.append) as slow, _calls_odd():
            pass
        self.assertFalse(slow.is_set())
        self.assertEqual([], received)


class SleepyPolicy(policy.FilterPolicy):
    """Admits nodes after a while."""

    contract_version = 1
    awake = threading.Event()
    clock = FakeClock()

    def admits(self, node: model.Node) -> bool:
        if not self.awake.is_set():
            self.clock.elapse(plugin_guard.LONGEST + 1)
            self.awake.wait(600)
        return True


class OtherPolicy(SleepyPolicy):
    def admits(self, node: model.Node) -> bool:
        return True


class TestBound(unittest.TestCase):
    """A policy that does not return fails, and works again afterwards.

    Time passes only while it sleeps: however slow the machine is, no other
    policy takes too long.
    """

    def setUp(self) -> None:
        super().setUp()
        SleepyPolicy.awake.clear()
        self.addCleanup(SleepyPolicy.awake.set)
        clock = types.SimpleNamespace(monotonic=SleepyPolicy.clock)
        self.enterContext(mock.patch.object(plugin_guard, 'time', clock))
        self.enterContext(mock.patch.object(plugin_guard, '_POLL', 0.01))

    def admits(self, *policies: policy.FilterPolicy) -> bool:
        found = policy_set.PolicySet(policies)
        return plugin_guard.bounded(
            lambda: found.admits(world.node(1)), foreign=found.is_foreign
        )

    def test_policy_that_hangs_is_a_fault_until_it_returns(self) -> None:
        for _ in range(2):
            with self.assertRaises(exceptions.PluginFaultError) as caught:
                self.admits(OtherPolicy({}), SleepyPolicy({}))
            self.assertRegex(
                str(caught.exception), r'SleepyPolicy\.\w+ has not answered'
            )
        self.assertTrue(self.admits(OtherPolicy({})))
        SleepyPolicy.awake.set()
        for thread in threading.enumerate():
            if thread.name == 'policies':
                thread.join(60)
        self.assertTrue(self.admits(SleepyPolicy({})))

    def test_nodes_of_other_services_are_decided_meanwhile(self) -> None:
        faults: set[tuple[str, ...]] = set()
        alive = (
            world.member('host1', world.runs(shard_key='a')),
            world.member('host2', world.runs(shard_key='b', sleepy=None)),
        )
        groups = world.assemble(
            alive,
            (),
            {**world.CLASSES, 'sleepy': SleepyPolicy},
            lambda hosts, error: faults.add(tuple(hosts)),
        )
        nodes = [world.node(1, shard='a'), world.node(2, shard='b')]
        decided = decide.decide(nodes, {}, groups)
        self.assertEqual('host1', decided[nodes[0].uuid].owner)
        self.assertIs(reasons.Reason.UNDECIDED, decided[nodes[1].uuid].reason)
        self.assertEqual({('host2',)}, faults)

    def test_gate_of_a_move_to_such_a_service_is_unknown(self) -> None:
        classes = {**world.CLASSES, 'sleepy': SleepyPolicy}
        settings = world.runs(sleepy=None)
        change = OwnerChange(
            'new',
            test_gates.at(
                new={'settings': settings},
                view=model.View.of([world.member('new', settings)]),
            ),
            lambda settings: world.interpret(settings, classes),
        )
        (refused,) = refusals(evaluate(Case(change, test_gates.UUID)))
        self.assertEqual(test_gates.ADMITS, refused.gate)
        self.assertIn('has not answered', refused.detail)

    def test_our_own_policies_need_no_thread(self) -> None:
        ours = world.interpret(world.RING)
        assert ours is not None
        self.assertIs(
            threading.current_thread(),
            plugin_guard.bounded(
                threading.current_thread, foreign=ours.is_foreign
            ),
        )
