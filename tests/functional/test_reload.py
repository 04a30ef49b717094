"""SIGHUP of a real process: applied, refused, and never the end of it."""

from __future__ import annotations

import signal
import sys

from tests.functional.support import reload_case

_PROGRAM = """
import os, signal, sys

def send(event, arguments):
    if event == 'import' and arguments[0] == 'oslo_config':
        os.kill(os.getpid(), signal.SIGHUP)

sys.addaudithook(send)
from ironic_ownership.cmd.host import main
sys.exit(main())
"""


class ReloadTest(reload_case.ReloadsTestCase):
    def test_what_can_change_changes_within_one_membership(self) -> None:
        """A signal during the start is answered after it."""
        self.deployment.command = (sys.executable, '-c', _PROGRAM)
        host = self.deployment.start(
            'host1', 'shard_key', ironic={'shard_key': 's1'}
        )
        self.wait_for_lines(host, reload_case.RELOADED)
        good = host.config.read_text()
        wrong = good.replace('= s1', '= s/1')
        for number, text in enumerate((wrong, good[:-9], None), start=1):
            if text is None:
                host.config.unlink()
            else:
                host.config.write_text(text)
            host.process.signal(signal.SIGHUP)
            self.wait_for_lines(host, reload_case.REFUSED, number)
        self.wait_for_error('host1', str(host.config))
        owners = dict.fromkeys(self.enrolment.enrol(1, shard='s1'), 'host1')
        self.deployment.wait_for_owners(owners)
        host.config.write_text(good)
        self.reload_and_wait(
            host,
            ironic={'shard_key': 's2'},
            membership={'member_ttl': 900},
        )
        self.assertIsNone(self.row('host1').config_error)
        self.assertIn(
            'shard_key.shard_key: s1 -> s2',
            host.lines(reload_case.RELOADED)[-1],
        )
        (line,) = host.lines('options that need a restart')
        self.assertIn('[membership] member_ttl', line)
        # What it owned stays on record with it until it is moved.
        self.enrolment.enrol(1, shard='s1')
        owners |= dict.fromkeys(self.enrolment.enrol(2, shard='s2'), 'host1')
        self.deployment.wait_for_owners(owners)
        self.assert_never_left(host)
        self.assertEqual(0, host.terminate())
