from __future__ import annotations

import dataclasses
import threading
import unittest
from collections.abc import Callable
from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.plugin_guard import GuardedBackend
from ironic_ownership_plugin_kit import backend
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock
from ironic_ownership_plugin_kit.fakes import MemoryCase

ORIGIN = "backend 'odd' from their-odd 1.5"


class TestContract(MemoryCase, backend.BackendContract):
    """The guard of a sound backend is a sound backend."""

    def make_backend(self, member_ttl: float) -> GuardedBackend:
        return GuardedBackend(super().make_backend(member_ttl), ORIGIN)


class TestFaults(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()
        self.inner = memory.MemoryBackend(
            {}, member_ttl=20.0, call_timeout=5.0, store=memory.MemoryStore()
        )
        self.guard = GuardedBackend(self.inner, ORIGIN, self.clock)

    def assert_fault(self, call: Callable[[], object], *words: str) -> None:
        with self.assertRaises(exceptions.BackendFaultError) as caught:
            call()
        for word in (ORIGIN, *words):
            self.assertIn(word, str(caught.exception))

    def test_every_error_of_a_call_is_a_fault_that_names_the_package(
        self,
    ) -> None:
        calls = {
            'join': ('host1', 'a', model.MemberSettings()),
            'beat': (),
            'advertise': (model.MemberSettings(),),
            'leave': (),
            'view': (),
            'watch': (1.0,),
        }
        for error in (
            SystemExit(0),
            ZeroDivisionError(),
            GeneratorExit(),
            BaseException('x'),
        ):
            for name, args in calls.items():
                with (
                    self.subTest(error=error, name=name),
                    mock.patch.object(self.inner, name, side_effect=error),
                ):
                    self.assert_fault(
                        lambda: getattr(self.guard, name)(*args),  # noqa: B023
                        f'{name}()',
                        type(error).__name__,
                    )
        self.assertIsNone(self.guard.calls.longest())

    def test_errors_of_the_contract_stay_as_they_are(self) -> None:
        error = exceptions.NotMemberError('expired')
        self.inner.beat = mock.Mock(side_effect=error)
        with self.assertRaises(exceptions.NotMemberError) as caught:
            self.guard.beat()
        self.assertIs(error, caught.exception)

    def test_view_that_is_none_is_one_fault(self) -> None:
        sound = model.Member('host1', 'a', 1.0)
        odd = [
            dataclasses.replace(sound, **values)
            for values in (
                {'host': None},
                {'incarnation': 5},
                {'joined_at': 'now'},
                {'joined_at': float('nan')},
                {'settings': None},
            )
        ]
        for found in (
            None,
            5,
            [sound],
            model.View((1, 2)),
            model.View((sound,), expires_in='soon'),
            *(model.View((member,)) for member in odd),
        ):
            with self.subTest(found=found):
                self.inner.view = mock.Mock(return_value=found)
                self.assert_fault(self.guard.view)

    def hang(self, method: str) -> Callable[[], None]:
        """Let a call wait, and return what ends it."""
        begun, release = threading.Event(), threading.Event()
        self.addCleanup(release.set)
        self.begun = begun

        def wait() -> model.View:
            begun.set()
            release.wait(60)
            return model.View()

        setattr(self.inner, method, wait)

        def end() -> None:
            release.set()
            for thread in threading.enumerate():
                if thread.name == f'{ORIGIN}: {method}()':
                    thread.join(60)

        return end

    def test_call_that_does_not_return_is_shown(self) -> None:
        end = self.hang('view')
        thread = threading.Thread(target=self.guard.view)
        thread.start()
        self.begun.wait(30)
        self.clock.elapse(7)
        self.assertEqual(
            (f'{ORIGIN}: view()', 7.0), self.guard.calls.longest()
        )
        end()
        thread.join(30)
        self.assertIsNone(self.guard.calls.longest())

    def test_view_that_does_not_return_is_a_fault_until_it_does(self) -> None:
        end = self.hang('view')
        with mock.patch.object(plugin_guard, 'GRACE', -4.9):
            for _ in range(2):
                self.assert_fault(self.guard.view, 'view()')
        end()
        self.assertEqual(model.View(), self.guard.view())

    def test_close_neither_hangs_nor_raises(self) -> None:
        self.enterContext(mock.patch.object(plugin_guard, 'GRACE', 0.1))
        self.hang('close')
        for _ in range(2):
            with self.assertLogs('ironic_ownership', 'WARNING') as logged:
                self.guard.close()
            self.assertIn(f'{ORIGIN}: close()', logged.output[0])
            self.setUp()
            self.inner.close = mock.Mock(side_effect=SystemExit)
