"""``tools/ironic`` without its Ironic: arguments, signals, help."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import unittest

from tests.unit.checkout import ROOT

_WITHOUT_IRONIC = """
import signal
import sys
# As a shell does for a command of a script that ends with "&".
signal.signal(signal.SIGINT, signal.SIG_IGN)
from unittest import mock
from lab import __main__ as command
with (
    mock.patch.object(command.ironic, 'Ironic') as server,
    mock.patch.object(command, 'Enrolment') as enrolment,
):
    server.return_value.endpoint = 'http://127.0.0.1:1'
    enrolment.return_value.enrol = lambda count, shard: [
        f'{shard}{number}' for number in range(count)
    ]
    code = command.main(sys.argv[1:])
    for call in enrolment.return_value.set_attribute.call_args_list:
        print('set', *call.args)
    print('stopped', server.return_value.stop.called)
sys.exit(code)
"""


class TestLabCommand(unittest.TestCase):
    def start(self, *words: str) -> subprocess.Popen[str]:
        running = subprocess.Popen(
            [sys.executable, '-c', _WITHOUT_IRONIC, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def ended(self, number: int, *words: str) -> str:
        """Return what it prints from the time at which it gets a signal."""
        running = self.start('--nodes', '5', *words)
        assert running.stdout is not None
        for line in running.stdout:
            if 'Ctrl-C' in line:
                self.assertIn(f'kill {running.pid}', line)
                break
        running.send_signal(number)
        printed, errors = running.communicate(timeout=60)
        self.assertEqual(0, running.returncode, errors)
        self.assertIn('starting Ironic', errors)
        return printed

    def test_either_signal_ends_it_in_the_background_too(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertIn('stopped True', self.ended(number))

    def test_nodes_get_the_given_attributes_in_turn(self) -> None:
        printed = self.ended(
            signal.SIGTERM, '--property', 'zone=x,y', '--extra', 'rack=r1'
        )
        found = re.findall(r'^set (\w+) (\w+) (\w+) (\S+)$', printed, re.M)
        zones = [(one[0], one[3]) for one in found if one[2] == 'zone']
        self.assertEqual(
            [('None0', 'x'), ('None1', 'y'), ('None2', 'x')],
            [one for one in zones if one[0].startswith('None')],
        )
        racks = [one[3] for one in found if one[1] == 'extra']
        self.assertEqual(['r1'] * 5, racks)

    def test_wrong_attribute_is_a_usage_error(self) -> None:
        running = self.start('--extra', 'rack')
        _, errors = running.communicate(timeout=60)
        self.assertEqual(2, running.returncode)
        self.assertIn("'rack' is not NAME=VALUE", errors)

    def test_help_installs_nothing(self) -> None:
        done = subprocess.run(
            [str(ROOT / 'tools' / 'ironic'), '--help'],
            capture_output=True,
            text=True,
            check=True,
            # Nothing that could install is on this path.
            env={'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent'},
        )
        self.assertIn('--property', done.stdout)
        self.assertNotIn('installing', done.stdout)
