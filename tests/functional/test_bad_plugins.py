"""Plugins of third parties that misbehave, in real host processes."""

from __future__ import annotations

import json
import unittest
from typing import Any

from tests.functional.support import (
    command_line,
    databases,
    hosts,
    plugin_packages,
    programs,
)

NAMED = "policy 'moody' from their-moods 1.5"

MOODS = """
    class Moody(AssignerPolicy):
        contract_version = 1
        rebalancing = True

        def __init__(self, settings):
            super().__init__(settings)
            if mood() == 'constructor':
                raise LookupError('a bad mood')

        def peers(self, host, candidates, scope):
            if mood() == 'peers':
                return 'all'
            return frozenset(candidates)

        def assign(self, nodes, hosts):
            if mood() == 'raises':
                raise LookupError('a bad mood')
            if mood() == 'stranger':
                return ['stranger' for _ in nodes]
            if mood() == 'nothing':
                return None
            if mood() == 'type':
                return [5 for _ in nodes]
            if mood() == 'less':
                return [hosts[-1] for _ in nodes[1:]]
            while mood() == 'slow':
                time.sleep(0.05)
            return [hosts[0] for _ in nodes]

    class Picky(FilterPolicy):
        contract_version = 1

        def scope(self):
            if mood() == 'scope':
                return 'rack1'
            return Scope()

        def admits(self, node):
            if mood() == 'admits':
                raise LookupError('a bad mood')
            return None if mood() == 'silent' else True
"""


class TestStart(unittest.TestCase):
    """Faults that refuse a start, or a reload, before anything is written."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()
        self.directory = databases.temporary_directory('bad')
        self.records = self.directory / 'records.sqlite'

    def refused(self, policies: str, **sections: Any) -> str:
        file = self.directory / 'host.conf'
        file.write_text(
            hosts.text_of(
                hosts.FAST,
                {
                    'DEFAULT': {'host': 'host1'},
                    'ownership': {'policies': policies},
                    'database': {'connection': f'sqlite:///{self.records}'},
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': 'http://127.0.0.1:1',
                    },
                },
                sections,
            )
        )
        done = programs.run(
            ['ironic-ownership-host', '--config-file', str(file)],
            hosts.TIMEOUT,
            programs.HOST,
            env=self.site.environment,
        )
        self.assertEqual(1, done.returncode, done.stderr)
        (line,) = done.stderr.splitlines()
        self.assertFalse(self.records.exists())
        return line

    def test_policy_that_cannot_start_is_refused_with_its_distribution(
        self,
    ) -> None:
        body = 'class P(FilterPolicy):\n        contract_version = '
        for number, (source, cause) in enumerate(
            (
                ('raise LookupError("on import")', 'on import'),
                ('import sys; sys.exit("gone")', 'gone'),
                ('import os; os._exit(0)', 'os._exit(0)'),
                (f'{body}1; __init__ = None', 'NoneType'),
                (f'{body}1; settings = None', 'settings'),
                (f'{body}1; settings = lambda self: 5', 'settings'),
                (f'{body}1; scope = lambda self: None', 'scope'),
                (f'{body}1; scope = lambda self: 1 / 0', 'ZeroDivision'),
                (f'{body}1; remarks = lambda self: None', 'remarks'),
                (f'{body}1; check_host = lambda self, h: 1 / 0', 'ZeroDiv'),
                (f'{body}99', 'contract version 99'),
            )
        ):
            with self.subTest(source=source):
                name = f'odd{number}'
                dist = self.site.install(f'their-{name}', source, {name: 'P'})
                line = self.refused(name)
                for part in (repr(name), dist, cause):
                    self.assertIn(part, line)

    def test_secret_that_would_be_advertised_is_refused(self) -> None:
        dist = self.site.install(
            'their-secret',
            """
            class P(FilterPolicy):
                contract_version = 1
                options = (
                    Option('word', OptionType.STRING, 'A secret.', 'hunter2',
                           secret=True),
                )
            """,
            {'teller': 'P'},
        )
        line = self.refused('teller')
        for part in ("'teller'", dist, "secret option 'word'"):
            self.assertIn(part, line)
        self.assertNotIn('hunter2', line)

    def test_name_of_two_packages_is_refused_and_both_are_named(self) -> None:
        source = 'class P(FilterPolicy): contract_version = 1'
        one = self.site.install('their-one', source, {'same': 'P'})
        other = self.site.install('their-other', source, {'same': 'P'})
        line = self.refused('same')
        for part in ("'same'", one, other):
            self.assertIn(part, line)

    def test_missing_option_is_refused_with_the_line_to_add(self) -> None:
        self.site.install(
            'their-needs',
            """
            class P(FilterPolicy):
                contract_version = 1
                options = (
                    Option('rack', OptionType.STRING, 'A rack.',
                           required=True),
                )
            """,
            {'needy': 'P'},
        )
        line = self.refused('needy')
        self.assertIn('add "rack = ..." to [policy_needy]', line)

    def test_backend_that_cannot_start_is_refused_with_its_distribution(
        self,
    ) -> None:
        dist = self.site.install(
            'their-store', 'raise LookupError("on import")', None, {'st': 'B'}
        )
        line = self.refused('all', ownership={'backend': 'st'})
        for part in ("'st'", dist, 'on import'):
            self.assertIn(part, line)


class TestRunning(hosts.HostsTestCase):
    """Later faults change no owner, and are reported everywhere."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.MoodySite()
        self.feel = self.site.feel
        self.site.install(
            'their-moods',
            MOODS,
            {'moody': 'Moody', 'picky': 'Picky'},
        )
        self.deployment.environment = self.site.moody
        self.owners: dict[str, str | None] = {}
        self.host = self.deployment.start('host1', 'picky,moody')
        self.enrol()
        self.deployment.wait_for_owners(self.owners)

    def enrol(self) -> None:
        self.owners |= dict.fromkeys(self.enrolment.enrol(2), 'host1')

    def fault(self) -> str:
        row, *_ = self.deployment.records.services()
        return row.config_error or ''

    def problems(self) -> list[dict[str, Any]]:
        """Return what ``check`` finds, where the plugins are in no mood."""
        file = self.deployment.directory / 'operator.conf'
        file.write_text(
            hosts.text_of(
                {
                    'ownership': {'policies': 'picky,moody'},
                    'database': {'connection': self.deployment.connection},
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': self.deployment.endpoint,
                    },
                }
            )
        )
        done = command_line.run(
            *('--config-file', str(file), 'check', '--long', '-f', 'json'),
            env=self.site.environment,
        )
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return json.loads(done.stdout)

    def wait_for_fault(self, *words: str) -> None:
        self.deployment.wait_until(
            lambda: all(word in self.fault() for word in words),
            f'fault with {words}',
        )

    def check_mood(self, mood: str, *words: str, told: bool) -> None:
        """See one fault come, change nothing, and pass.

        :param told: whether to see it in the check of an operator.
        """
        before = dict(self.owners)
        self.feel(mood)
        self.enrol()  # of which the policy decides nothing now
        self.wait_for_fault(*words)
        self.deployment.wait_for_beats('host1', 2)
        self.assertEqual(before, self.deployment.owners())
        self.deployment.wait_until(
            lambda: any(
                all(word in line for word in words)
                for line in self.host.lines('refresh failed')
            ),
            f'log line with {words}',
        )
        if told:
            codes = {found['code'] for found in self.problems()}
            self.assertIn('plugin_fault', codes)
        self.feel('')
        self.deployment.wait_for_owners(self.owners)
        self.deployment.wait_until(lambda: not self.fault(), 'good mood')

    def test_policies_that_answer_wrongly_keep_the_owners(self) -> None:
        picky = NAMED.replace('moody', 'picky')
        for mood, *words in (
            ('raises', NAMED, 'Moody.assign', 'LookupError: a bad mood'),
            ('stranger', NAMED, "'stranger'"),
            ('nothing', NAMED, 'Moody.assign'),
            ('type', NAMED, '5'),
            ('less', NAMED, 'owners for'),
            ('peers', NAMED, 'Moody.peers', 'all'),
            ('admits', picky, 'Picky.admits', 'LookupError: a bad mood'),
            ('silent', picky, 'Picky.admits', 'None'),
            ('scope', picky, 'Picky.scope', 'rack1'),
            ('constructor', 'host1', NAMED),
        ):
            told = mood in (
                'raises',
                'peers',
                'admits',
                'scope',
                'constructor',
            )
            self.check_mood(mood, *words, told=told)

    def test_policy_that_takes_very_long_is_named_and_stops_no_host(
        self,
    ) -> None:
        before = dict(self.owners)
        self.feel('slow')
        self.enrol()
        words = NAMED, 'Moody.assign', 'takes longer than 10 s'
        self.wait_for_fault(*words)
        self.assertEqual(before, self.deployment.owners())
        (line,) = self.host.lines('takes longer than')
        self.assertIn(NAMED, line)
        found = [p for p in self.problems() if p['code'] == 'plugin_fault']
        self.assertEqual(1, len(found), found)
        self.assertIn(NAMED, found[0]['what'])
        # Past the time to live, it is still a member.
        self.deployment.wait_for_beats('host1', 8)
        self.assertEqual({'host1'}, self.deployment.members())
        self.feel('')
        self.deployment.wait_for_owners(self.owners)
        self.deployment.wait_until(lambda: not self.fault(), 'good mood')
        # Nor does one that never answers keep the process from its end.
        self.feel('slow')
        self.enrol()
        self.wait_for_fault('takes longer than 10 s')
        self.assertEqual(0, self.host.terminate())
        self.assertEqual(frozenset(), self.deployment.members())

    def test_policies_that_fail_at_a_reload_keep_the_old_configuration(
        self,
    ) -> None:
        self.feel('scope')
        self.host.process.signal(1)
        self.wait_for_fault('Picky.scope', 'their-moods 1.5')
        # A refresh may have found the fault before the reload did.
        self.deployment.wait_until(
            lambda: self.host.lines('configuration not reloaded'), 'refusal'
        )
        self.feel('')
        self.host.process.signal(1)
        self.deployment.wait_until(
            lambda: self.host.lines('configuration reloaded'), 'reload'
        )
        self.enrol()
        self.deployment.wait_for_owners(self.owners)
        self.deployment.wait_until(lambda: not self.fault(), 'good mood')


MERELY_INSTALLED = {
    'exits': 'raise SystemExit(0)',
    'ends': 'import os; os._exit(0)',
    'hangs': 'time.sleep(3600)',
    'collides': """
        class P(FilterPolicy):
            contract_version = 1
            options = (
                Option('page_size', OptionType.STRING, 'Taken.',
                       group='ironic'),
                Option('host', OptionType.STRING, 'Taken.', group='DEFAULT'),
            )
        """,
    'invalid': """
        class P(FilterPolicy):
            contract_version = 1
            options = (Option('a b', 'text', 'No option.'),)
        """,
}


class TestMerelyInstalled(hosts.HostsTestCase):
    """Plugins that no configuration names stop neither hosts nor commands."""

    def setUp(self) -> None:
        super().setUp()
        self.site = plugin_packages.Site()
        for name, source in MERELY_INSTALLED.items():
            self.site.install(f'their-{name}', source, {name: 'P'})
        self.deployment.environment = self.site.environment

    def test_host_serves_and_commands_answer(self) -> None:
        host = self.deployment.start('host1', 'all')
        owners = dict.fromkeys(self.enrolment.enrol(2), 'host1')
        self.deployment.wait_for_owners(owners)
        host.process.signal(1)
        self.deployment.wait_until(
            lambda: host.lines('configuration reloaded'), 'reload'
        )
        file = self.deployment.directory / 'operator.conf'
        file.write_text(
            hosts.text_of(
                {
                    'database': {'connection': self.deployment.connection},
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': self.deployment.endpoint,
                    },
                }
            )
        )
        for words in (['check'], ['policy', 'list'], ['compute node list']):
            done = command_line.run(
                *('--config-file', str(file), *words[0].split(), *words[1:]),
                *('-f', 'json'),
                env=self.site.environment,
            )
            self.assertIn(done.returncode, (0, 4), done.stderr)
            if words[0] == 'policy':
                states = {
                    row['name']: row['status']
                    for row in json.loads(done.stdout)
                }
                self.assertEqual('ok', states['all'])
                for name in ('exits', 'ends', 'hangs', 'invalid'):
                    self.assertEqual('broken', states[name])
        self.assertEqual(0, host.terminate())
