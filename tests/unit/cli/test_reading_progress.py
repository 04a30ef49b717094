"""Progress of a read of Ironic, at a terminal only."""

from __future__ import annotations

import io
import unittest
from unittest import mock

from ironic_ownership.cli import app


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ProgressTest(unittest.TestCase):
    def reported(self, stream: io.StringIO) -> str:
        """Return the output for a page a second."""
        with mock.patch.object(app.time, 'monotonic') as now:
            now.return_value = 100.0
            report = app.reading_progress(stream)
            for second in range(1, 6):
                now.return_value += 1.0
                report(1000 * second)
        return stream.getvalue()

    def test_terminal_gets_a_line_from_time_to_time(self) -> None:
        self.assertEqual(
            'ironic-ownership: 2000 nodes read from Ironic\n'
            'ironic-ownership: 4000 nodes read from Ironic\n',
            self.reported(Terminal()),
        )

    def test_file_gets_nothing(self) -> None:
        self.assertEqual('', self.reported(io.StringIO()))
