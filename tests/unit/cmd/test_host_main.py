"""End of the process after the end of its host."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import signal
import socket
import tempfile
import threading
import unittest
from unittest import mock

from ironic_ownership.cmd import host_main
from tests.unit.engine.host import healths


class ServeTest(unittest.TestCase):
    def test_unexpected_error_is_no_clean_end(self) -> None:
        """Nor does a host outlive the thread that waits for signals."""
        stopped = threading.Event()
        # Else it would go on without anything that could stop it.
        self.addCleanup(stopped.set)
        broken = mock.Mock(
            **{
                'run.side_effect': ZeroDivisionError,
                'monitor.health': healths.health,
            }
        )
        stoppable = mock.Mock(
            run=stopped.wait,
            stop=stopped.set,
            **{'monitor.health.side_effect': ZeroDivisionError},
        )
        for host in (broken, stoppable):
            with self.assertRaises(ZeroDivisionError):
                host_main._serve(host, lambda: None, threading.Event())
        self.assertTrue(stopped.is_set())


class StopLimitTest(unittest.TestCase):
    """A stop that hangs ends, in a process of its own."""

    def ended(self, stop: bool) -> int:
        pid = os.fork()
        if not pid:
            try:
                self.hang(stop)
            finally:
                os._exit(9)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def hang(self, stop: bool) -> None:
        host_main.STOP_LIMIT = 0.01
        signal.pthread_sigmask(signal.SIG_BLOCK, host_main.SIGNALS)
        with host_main._stop_limited() as stopping:
            if stop:
                stopping.set()
            else:
                os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)

    def test_stop_or_start_that_hangs_ends_the_process(self) -> None:
        """A signal at the start waits for the host, which is not built."""
        self.assertEqual(0, self.ended(stop=True))
        self.assertEqual(0, self.ended(stop=False))

    def test_stop_in_time_ends_nothing(self) -> None:
        with host_main._stop_limited() as stopping:
            pass
        stopping.set()
        for thread in threading.enumerate():
            if thread.name == 'stop limit':
                thread.join(60)


class ServiceManagerTest(unittest.TestCase):
    def test_status_is_sent_in_utf_8(self) -> None:
        fault = 'Zugriff für \u4e2d verweigert'
        fails = dataclasses.replace(healths.FAILS, error=fault)
        monitor = mock.Mock(
            **{'health.return_value': healths.health(loops=(fails,))}
        )
        with (
            tempfile.TemporaryDirectory() as directory,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        ):
            path = str(pathlib.Path(directory, 'notify'))
            manager.bind(path)
            with mock.patch.dict(os.environ, NOTIFY_SOCKET=path):
                host_main.ServiceManager(monitor).tick()
            received = manager.recv(4096).decode()
        self.assertIn(f'STATUS=host1: serving; refresh: {fault}', received)
