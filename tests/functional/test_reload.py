"""SIGHUP: what is applied, what is refused, and what it never costs."""

from __future__ import annotations

import itertools
import signal
import sys
import time

from ironic_ownership.contracts import model
from ironic_ownership.policies import ring
from tests.functional.support import hosts, reload_case

_PROGRAM = """
import os, signal, sys

def send(event, arguments):
    if event == 'import' and arguments[0] == 'oslo_config':
        os.kill(os.getpid(), signal.SIGHUP)

sys.addaudithook(send)
from ironic_ownership.cmd.host import main
sys.exit(main())
"""
EARLY_SIGNAL = (sys.executable, '-c', _PROGRAM)
"""A host that gets SIGHUP while it is still importing its libraries."""


class TestApplied(reload_case.ReloadsTestCase):
    def shards(self) -> dict[str | None, int]:
        nodes = self.deployment.records.compute_nodes()
        shards = sorted(node.shard or '' for node in nodes)
        return {k: len([*g]) for k, g in itertools.groupby(shards)}

    def wait_for_shards(self, **expected: int) -> None:
        self.deployment.wait_until(
            lambda: self.shards() == expected, f'nodes of {expected}'
        )

    def test_shard_and_group_change_within_one_membership(self) -> None:
        first = self.enrolment.enrol(2, shard='s1', conductor_group='g1')
        second = self.enrolment.enrol(3, shard='s2', conductor_group='g2')
        for foreign in (('s1', 'g2'), ('s2', 'g1'), ('s2', '')):
            self.enrolment.enrol(
                1, shard=foreign[0], conductor_group=foreign[1]
            )
        host = self.deployment.start(
            'host1',
            'shard_key,conductor_group',
            ironic={'shard_key': 's1', 'conductor_group': 'g1'},
        )
        self.deployment.wait_for_owners(dict.fromkeys(first, 'host1'))
        reload_case.reload(
            host, ironic={'shard_key': 's2', 'conductor_group': 'G2'}
        )
        # What it owned stays on record with it until it is moved.
        self.deployment.wait_for_owners(dict.fromkeys(first + second, 'host1'))
        self.assert_never_left(host)
        self.assertEqual([], host.lines('need a restart'))
        (line,) = host.lines(reload_case.RELOADED)
        self.assertIn('shard_key.shard_key: s1 -> s2', line)
        self.assertIn(' -> g2', line)

    def test_storm_of_signals_does_no_harm(self) -> None:
        self.enrolment.enrol(2, shard='s1')
        self.enrolment.enrol(3, shard='s2')
        host = self.deployment.start(
            'host1', 'shard_key', ironic={'shard_key': 's1'}
        )
        self.wait_for_shards(s1=2)
        for number in range(20):
            shard = ('s9', 's/', 's1', 's2')[number % 4]
            reload_case.reload(host, ironic={'shard_key': shard})
            time.sleep(0.05)  # what a storm is
        self.wait_for_shards(s1=2, s2=3)
        self.deployment.wait_until(
            lambda: self.row('host1').config_error is None, 'calm'
        )
        self.assert_never_left(host)
        self.assertEqual(0, host.terminate())

    def test_signal_during_the_start_is_answered_after_it(self) -> None:
        (uuid,) = self.enrolment.enrol(1)
        self.deployment.command = EARLY_SIGNAL
        host = self.deployment.start('host1', 'all')
        self.deployment.wait_for_owners({uuid: 'host1'})
        self.wait_for_lines(host, reload_case.RELOADED)
        self.assert_never_left(host)


class TestRefused(reload_case.ReloadsTestCase):
    def start(self, **sections: object) -> hosts.Host:
        uuids = self.enrolment.enrol(2, shard='s1')
        self.enrolment.enrol(2, shard='s2')
        host = self.deployment.start('host1', 'shard_key', **sections)
        self.owners = dict.fromkeys(uuids, 'host1')
        self.deployment.wait_for_owners(self.owners)
        self.settings = self.row('host1').settings
        return host

    def assert_unchanged(self, host: hosts.Host, errors: int) -> None:
        """See the old configuration at work, and a line for each refusal."""
        (more,) = self.enrolment.enrol(1, shard='s1')
        self.owners[more] = 'host1'
        self.deployment.wait_for_owners(self.owners)
        self.assertEqual(self.settings, self.row('host1').settings)
        self.assertEqual(errors, len(host.lines(' ERROR ')))
        self.assertEqual(errors, len(host.lines(reload_case.REFUSED)))
        self.assert_never_left(host)

    def test_file_that_cannot_be_right_keeps_the_old_and_says_why(
        self,
    ) -> None:
        host = self.start(ironic={'shard_key': 's1'})
        good = host.config.read_text()
        two = good.replace('shard_key = s1', 'shard_key = s2')
        cut = two.index('shard_key = s2')
        for number, (text, *words) in enumerate(
            (
                (two.replace('= s2', '= s/2'), 'shard_key'),
                (two[: cut + len('shard_key = s')], 'line break'),
                (two[:cut], 'shard_key'),
                (None, str(host.config)),
            ),
            start=1,
        ):
            if text is None:
                host.config.unlink()
            else:
                host.config.write_text(text)
            host.process.signal(signal.SIGHUP)
            self.wait_for_lines(host, reload_case.REFUSED, number)
            self.wait_for_error('host1', *words)
            self.assertIn(words[0], host.lines(reload_case.REFUSED)[-1])
        self.assert_unchanged(host, number)
        host.config.write_text(good)
        host.process.signal(signal.SIGHUP)
        self.wait_for_lines(host, reload_case.RELOADED)
        self.assertIsNone(self.row('host1').config_error)
        self.assert_unchanged(host, number)

    def test_options_that_need_a_restart_are_named_and_not_applied(
        self,
    ) -> None:
        host = self.start(ironic={'shard_key': 's1'})
        reload_case.reload(
            host,
            DEFAULT={'host': 'host9', 'use_json': True},
            ownership={'backend': 'memory'},
            membership={'member_ttl': 900},
            database={'connection': 'sqlite:////nonexistent/other'},
            ironic={'endpoint_override': 'http://127.0.0.1:1'},
        )
        self.wait_for_lines(host, reload_case.RELOADED)
        (line,) = host.lines(' WARNING ')
        for name in (
            '[DEFAULT] host',
            '[DEFAULT] use_json',
            '[ownership] backend',
            '[membership] member_ttl',
            '[database] connection',
            '[ironic] endpoint_override',
        ):
            self.assertIn(name, line)
        self.assert_unchanged(host, 0)
        self.assertEqual({'host1'}, self.deployment.members())
        self.reload_and_wait(
            host, ownership={'policies': 'shard_key,peer_list'}
        )
        self.assertIn(
            'policies: shard_key -> shard_key,peer_list',
            host.lines(reload_case.RELOADED)[-1],
        )
        self.assert_never_left(host)


class TestChanging(reload_case.ReloadsTestCase):
    """Several services change one after the other; see laws, too."""

    def test_services_that_swap_shards_keep_what_they_own(self) -> None:
        one, two = (
            self.deployment.start(
                f'host{n}', 'shard_key', ironic={'shard_key': f's{n}'}
            )
            for n in (1, 2)
        )
        owners: dict[str, str | None] = {}
        for n in (1, 2):
            uuids = self.enrolment.enrol(3, shard=f's{n}', instance_share=0.34)
            owners |= dict.fromkeys(uuids, f'host{n}')
        self.deployment.wait_for_owners(owners)
        events = self.deployment.events()
        self.reload_and_wait(one, ironic={'shard_key': 's2'})
        self.wait_for_lines(one, '3 nodes owned here, but out of scope')
        self.reload_and_wait(two, ironic={'shard_key': 's1'})
        for host, other in ((one, two), (two, one)):
            self.wait_for_lines(host, f'on record with {other.name}')
            (line,) = host.lines(f'on record with {other.name}')
            self.assertIn('ironic-ownership compute node move ', line)
            self.assertIn(f'--service {host.name}', line)
        self.assertEqual(events, self.deployment.events())
        (new,) = self.enrolment.enrol(1, shard='s2')
        self.deployment.wait_for_owners(owners | {new: 'host1'})
        self.assert_never_left(one, two)

    def test_peers_that_disagree_move_nothing_until_the_last_agrees(
        self,
    ) -> None:
        pair, trio = 'host1,host2', 'host1,host2,host3'
        running = [
            self.deployment.start(name, ironic={'peer_list': pair})
            for name in pair.split(',')
        ]
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        before = shared(uuids, pair.split(','))
        self.deployment.wait_until(
            lambda: self.deployment.owners().keys() == set(uuids), 'owners'
        )
        self.deployment.wait_for_owners(before | self.deployed_now(uuids))
        before = dict(self.deployment.owners())
        running.append(
            self.deployment.start('host3', ironic={'peer_list': trio})
        )
        self.wait_for_lines(running[2], '12 nodes admitted by several')
        events = self.owner_changes()
        self.reload_and_wait(running[0], ironic={'peer_list': trio})
        self.wait_for_lines(running[1], 'admitted by several')
        self.deployment.wait_for_beats('host3', 4)
        self.assertEqual(before, self.deployment.owners())
        self.assertEqual(events, self.owner_changes())
        self.reload_and_wait(running[1], ironic={'peer_list': trio})
        after = shared(uuids, trio.split(','))
        deployed = set(uuids[:3])
        self.deployment.wait_for_owners(
            {u: before[u] if u in deployed else after[u] for u in before}
        )
        self.assert_never_left(*running)

    def deployed_now(self, uuids: list[str]) -> dict[str, str | None]:
        """Return the owners of the deployed: the first who saw them."""
        owners = self.deployment.owners()
        return {uuid: owners[uuid] for uuid in uuids[:3]}

    def owner_changes(self) -> list[model.Event]:
        return [e for e in self.deployment.events() if e.node_uuid]


def shared(uuids: list[str], members: tuple[str, ...]) -> dict[str, str]:
    owners = ring.Ring(members).owners(uuids)
    return dict(zip(uuids, owners, strict=True))
