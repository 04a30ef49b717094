from __future__ import annotations

import dataclasses
import threading
import unittest
from collections.abc import Callable
from unittest import mock

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.membership import backend_guard
from ironic_ownership.engine.membership.backend_guard import GuardedBackend
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

    def test_every_error_of_a_call_is_a_fault_that_names_the_package(
        self,
    ) -> None:
        for error in (
            SystemExit(0),
            ZeroDivisionError(),
            GeneratorExit(),
            BaseException('x'),
        ):
            for name, args in (
                ('join', ('host1', 'a', model.MemberSettings())),
                ('beat', ()),
                ('advertise', (model.MemberSettings(),)),
                ('leave', ()),
                ('view', ()),
                ('watch', (1.0,)),
            ):
                with (
                    self.subTest(error=error, name=name),
                    mock.patch.object(self.inner, name, side_effect=error),
                    self.assertRaises(exceptions.BackendFaultError) as caught,
                ):
                    getattr(self.guard, name)(*args)
                for text in (ORIGIN, f'{name}()', type(error).__name__):
                    self.assertIn(text, str(caught.exception))
        self.assertIsNone(self.guard.calls.longest())

    def test_errors_of_the_contract_stay_as_they_are(self) -> None:
        error = exceptions.NotMemberError('expired')
        with (
            mock.patch.object(self.inner, 'beat', side_effect=error),
            self.assertRaises(exceptions.NotMemberError) as caught,
        ):
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
            with (
                self.subTest(found=found),
                mock.patch.object(self.inner, 'view', return_value=found),
                self.assertRaises(exceptions.BackendFaultError) as caught,
            ):
                self.guard.view()
            self.assertIn(ORIGIN, str(caught.exception))

    def test_call_that_does_not_return_is_shown(self) -> None:
        begun, release = threading.Event(), threading.Event()

        def hang() -> model.View:
            begun.set()
            release.wait(30)
            return model.View()

        with mock.patch.object(self.inner, 'view', side_effect=hang):
            thread = threading.Thread(target=self.guard.view)
            thread.start()
            begun.wait(30)
            self.clock.elapse(7)
            self.assertEqual(
                (f'{ORIGIN}: view()', 7.0), self.guard.calls.longest()
            )
            release.set()
            thread.join(30)
        self.assertIsNone(self.guard.calls.longest())

    def test_view_that_does_not_return_is_a_fault_until_it_does(self) -> None:
        ended = self.hang('view')
        with mock.patch.object(backend_guard, 'GRACE', -4.9):
            for _ in range(2):
                with self.assertRaises(exceptions.BackendFaultError) as caught:
                    self.guard.view()
                self.assertIn(f'{ORIGIN}: view()', str(caught.exception))
        ended()
        self.assertEqual(model.View(), self.guard.view())

    def test_close_that_does_not_return_is_left_alone(self) -> None:
        self.hang('close')
        with (
            mock.patch.object(backend_guard, 'GRACE', 0.1),
            self.assertLogs('ironic_ownership.engine', 'WARNING') as logged,
        ):
            self.guard.close()
        self.assertIn(f'{ORIGIN}: close()', logged.output[0])

    def hang(self, method: str) -> Callable[[], None]:
        """Let a call wait, and return what ends it."""
        release = threading.Event()
        self.addCleanup(release.set)

        def wait() -> model.View:
            release.wait(60)
            return model.View()

        self.enterContext(
            mock.patch.object(self.inner, method, side_effect=wait)
        )

        def end() -> None:
            release.set()
            for thread in threading.enumerate():
                if thread.name == f'{ORIGIN}: {method}()':
                    thread.join(60)

        return end

    def test_close_never_raises(self) -> None:
        with (
            mock.patch.object(self.inner, 'close', side_effect=SystemExit),
            self.assertLogs('ironic_ownership.engine', 'WARNING'),
        ):
            self.guard.close()
