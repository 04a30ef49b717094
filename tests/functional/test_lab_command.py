"""The Ironic that an author of a plugin starts with one command."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import unittest

from tests.functional.support import ironics

_CHECKOUT = pathlib.Path(__file__).parents[2]


class TestLabCommand(unittest.TestCase):
    def test_ironic_has_its_nodes_and_ends_with_a_signal(self) -> None:
        # As tools/ironic runs it, which installs the requirements first.
        running = subprocess.Popen(
            [sys.executable, '-m', 'lab', '--nodes', '3'],
            cwd=_CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(running.kill)
        assert running.stdout is not None
        self.addCleanup(running.stdout.close)
        url = ''
        for line in running.stdout:
            if line.startswith('endpoint_override = '):
                url = line.partition(' = ')[2].strip()
            if 'Ctrl-C' in line:
                break
        bare_metal = ironics.open_ironic(url)
        self.assertEqual({'a': 1, 'b': 1, None: 1}, bare_metal.shard_counts())
        running.send_signal(signal.SIGTERM)
        self.assertEqual(0, running.wait(180))
