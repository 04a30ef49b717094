"""End of the process after the end of its host."""

from __future__ import annotations

import threading
import unittest
from unittest import mock

from ironic_ownership.cmd import host_main
from tests.unit.engine.host import healths


class BrokenHost:
    health = mock.Mock(read=healths.health)

    def run(self) -> None:
        raise ZeroDivisionError

    def stop(self) -> None:
        pass


class StoppableHost:
    """Runs until it is stopped; what it knows of itself cannot be had."""

    health = mock.Mock(read=mock.Mock(side_effect=ZeroDivisionError))

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def run(self) -> None:
        self.stopped.wait()

    def stop(self) -> None:
        self.stopped.set()


class ServeTest(unittest.TestCase):
    def test_unexpected_error_is_no_clean_end(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            host_main._serve(BrokenHost(), lambda: None)

    def test_host_does_not_outlive_the_thread_that_waits_for_signals(
        self,
    ) -> None:
        host = StoppableHost()
        # Else it would go on without anything that could stop it.
        self.addCleanup(host.stop)
        with self.assertRaises(ZeroDivisionError):
            host_main._serve(host, lambda: None)
        self.assertTrue(host.stopped.is_set())
