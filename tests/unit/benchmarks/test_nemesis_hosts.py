"""Processes of the nemesis: faults reach them from several threads."""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from benchmarks.nemesis import hosts


class TestHostProcess(unittest.TestCase):
    def test_configuration_may_be_written_by_two_faults_at_once(self) -> None:
        directory = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        one = hosts.HostProcess(
            *('ha', 'ha', directory, {}, lambda _: 'text', 0),
            *(mock.Mock(), mock.Mock(), ()),
        )
        failed: list[OSError] = []

        def write() -> None:
            try:
                one.write_configuration()
            except OSError as exc:
                failed.append(exc)

        real, both = pathlib.Path.write_text, threading.Barrier(2)

        def slowly(path: pathlib.Path, text: str) -> int:
            written = real(path, text)
            # Until both have written, if nothing keeps them from it.
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.5)
            return written

        with mock.patch.object(pathlib.Path, 'write_text', slowly):
            threads = [threading.Thread(target=write) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual([], failed)
        self.assertEqual('text', (directory / 'ha.conf').read_text())
