"""The suite of outages beside a store that is slow, and not down."""

from __future__ import annotations

import unittest

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend, fakes


class AnswersTheFirstJoinLate(memory.WatchedMemoryBackend):
    """The store of a busy machine: its first answer is not waited for."""

    _was_asked = False

    def join(self, host, incarnation, settings):
        first, self._was_asked = not self._was_asked, True
        if first:
            raise exceptions.BackendUnavailableError('no answer in time')
        super().join(host, incarnation, settings)


class SlowStore(fakes.MemoryCase):
    kind = AnswersTheFirstJoinLate


class TestSlowStore(unittest.TestCase):
    def test_join_before_the_outage_is_waited_for(self) -> None:
        suite = type('Laws', (SlowStore, backend.OutageContract), {})
        found = unittest.TestResult()
        tests = unittest.TestLoader().loadTestsFromTestCase(suite)
        tests.run(found)
        self.assertEqual(8, found.testsRun)
        self.assertEqual([], [*found.errors, *found.failures])
