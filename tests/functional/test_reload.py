"""SIGHUP: what is applied, what is refused, and what it never costs."""

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
        owners = dict.fromkeys(
            self.enrolment.enrol(2, shard='s1', conductor_group='g1'), 'host1'
        )
        host = self.deployment.start(
            'host1',
            'shard_key,conductor_group',
            ironic={'shard_key': 's1', 'conductor_group': 'g1'},
        )
        self.deployment.wait_for_owners(owners)
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
        owners |= dict.fromkeys(
            self.enrolment.enrol(1, shard='s1', conductor_group='g1'), 'host1'
        )
        self.deployment.wait_for_owners(owners)
        host.config.write_text(good)
        self.reload_and_wait(
            host,
            DEFAULT={'use_json': True},
            ironic={'shard_key': 's2', 'conductor_group': 'G2'},
            membership={'member_ttl': 900},
        )
        self.assertIsNone(self.row('host1').config_error)
        (line,) = host.lines(reload_case.RELOADED)
        self.assertIn('shard_key.shard_key: s1 -> s2', line)
        self.assertIn(' -> g2', line)
        (line,) = host.lines('options that need a restart')
        for name in ('[DEFAULT] use_json', '[membership] member_ttl'):
            self.assertIn(name, line)
        # What it owned stays on record with it until it is moved.
        for shard, group in (('s2', 'g2'), ('s1', 'g2'), ('s2', 'g1')):
            uuids = self.enrolment.enrol(2, shard=shard, conductor_group=group)
            if (shard, group) == ('s2', 'g2'):
                owners |= dict.fromkeys(uuids, 'host1')
        self.deployment.wait_for_owners(owners)
        self.assert_never_left(host)
        self.assertEqual(0, host.terminate())

    def test_peers_that_disagree_move_nothing_until_the_last_agrees(
        self,
    ) -> None:
        pair, trio = 'host1,host2', 'host1,host2,host3'
        names = trio.split(',')
        running = [
            self.deployment.start(name, ironic={'peer_list': pair})
            for name in names[:2]
        ]
        self.deployment.wait_for_members(*names[:2])
        uuids = self.enrolment.enrol(12)
        before = self.deployment.wait_for_ring(uuids, names[:2])
        running.append(
            self.deployment.start('host3', ironic={'peer_list': trio})
        )
        self.wait_for_lines(running[2], '12 nodes admitted by several')
        self.reload_and_wait(running[0], ironic={'peer_list': trio})
        self.wait_for_lines(running[1], 'admitted by several')
        self.deployment.wait_for_beats('host3', 4)
        self.assertEqual(before, self.deployment.owners())
        self.reload_and_wait(running[1], ironic={'peer_list': trio})
        self.deployment.wait_for_ring(uuids, names)
        self.assert_never_left(*running)

    def test_signal_during_the_start_is_answered_after_it(self) -> None:
        (uuid,) = self.enrolment.enrol(1)
        self.deployment.command = (sys.executable, '-c', _PROGRAM)
        host = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners({uuid: 'host1'})
        self.wait_for_lines(host, reload_case.RELOADED)
        self.assert_never_left(host)

    def test_service_that_is_forced_down_takes_nothing_back(self) -> None:
        """A configuration that changes meanwhile registers nothing."""
        names = ('host1', 'host2')
        one, _ = (self.deployment.start(name) for name in names)
        self.deployment.wait_for_members(*names)
        uuids = self.enrolment.enrol(12)
        self.deployment.wait_for_ring(uuids, names)
        records = self.deployment.records
        records.set_service('host1', actor='test', forced_down=True)
        self.deployment.wait_for_ring(uuids, ('host2',))
        self.wait_for_lines(one, 'is forced down')
        before = self.row('host1')
        self.reload_and_wait(one, ownership={'refresh_interval': 2})
        reload_case.reload(one, ownership={'refresh_interval': 'never'})
        self.wait_for_lines(one, reload_case.REFUSED)
        self.deployment.wait_for_beats('host1', 4)
        self.assertEqual(before, self.row('host1'))
        self.assertEqual(set(), self.deployment.owned_by('host1'))
        records.set_service('host1', actor='test', forced_down=False)
        self.deployment.wait_for_ring(uuids, names)
        self.wait_for_error('host1', 'refresh_interval')
        self.assertEqual(2, self.registrations('host1'))
        self.assertEqual(1, len(one.lines(' joined as ')))
