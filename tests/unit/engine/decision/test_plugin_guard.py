from __future__ import annotations

import threading
import unittest

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.decision import plugin_guard
from tests.unit.engine import world

ODD = world.OddPolicy({})


def _origin(target: type) -> str:
    return f"policy 'x' from {target.__name__.lower()} 1.0"


class TestFaults(unittest.TestCase):
    def test_fault_names_method_policy_and_distribution(self) -> None:
        with (
            self.assertRaises(exceptions.PluginFaultError) as caught,
            plugin_guard.faults_of(ODD, 'assign', _origin),
        ):
            raise KeyError('its own mistake')
        text = str(caught.exception)
        for part in (
            "policy 'x' from oddpolicy 1.0",
            'OddPolicy.assign',
            "KeyError: 'its own mistake'",
        ):
            self.assertIn(part, text)
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_exit_is_a_fault_as_any_other_error(self) -> None:
        for error in (SystemExit(0), GeneratorExit(), BaseException('all')):
            with (
                self.assertRaises(exceptions.PluginFaultError) as caught,
                plugin_guard.faults_of(ODD, 'assign', _origin),
            ):
                raise error
            self.assertIn(type(error).__name__, str(caught.exception))

    def test_interrupt_in_a_thread_is_a_fault(self) -> None:
        """Only the main thread gets the operator's."""
        caught: list[BaseException] = []

        def run() -> None:
            try:
                with plugin_guard.faults_of(ODD, 'assign'):
                    raise KeyboardInterrupt
            except exceptions.PluginFaultError as exc:
                caught.append(exc)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(30)
        self.assertEqual(1, len(caught))

    def test_interrupt_is_no_fault_of_a_plugin(self) -> None:
        with (
            self.assertRaises(KeyboardInterrupt),
            plugin_guard.faults_of(ODD, 'assign'),
        ):
            raise KeyboardInterrupt


class TestWatch(unittest.TestCase):
    def test_slow_plugin_is_named_during_the_call(self) -> None:
        received: list[str] = []
        requested = threading.Event()

        def tell(words: str) -> None:
            received.append(words)
            requested.set()

        with (
            plugin_guard.watched(0.01, tell) as slow,
            plugin_guard.faults_of(ODD, 'assign', _origin),
        ):
            self.assertTrue(requested.wait(60))
        self.assertTrue(slow.is_set())
        self.assertEqual(
            ["policy 'x' from oddpolicy 1.0: OddPolicy.assign"], received
        )

    def test_plugin_in_time_is_not_reported(self) -> None:
        received: list[str] = []
        with (
            plugin_guard.watched(600, received.append) as slow,
            plugin_guard.faults_of(ODD, 'assign'),
        ):
            pass
        self.assertFalse(slow.is_set())
        self.assertEqual([], received)

    def test_time_between_two_calls_names_no_plugin(self) -> None:
        self.assertEqual('between two policies', plugin_guard.Watch().words())
