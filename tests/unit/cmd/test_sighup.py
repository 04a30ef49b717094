from __future__ import annotations

import logging
import pathlib
import tempfile
import unittest

from ironic_ownership import settings
from ironic_ownership.clients import options
from ironic_ownership.cmd import sighup
from ironic_ownership.conf import log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import model
from ironic_ownership.engine.host.tuning import Tuning
from tests.unit import checkout, third_party

LOGGER = 'ironic_ownership.cmd.sighup'
GOOD: dict[str, dict[str, object]] = {
    'DEFAULT': {'host': 'host1'},
    'ownership': {'policies': 'shard_key, peer_list'},
    'ironic': {
        'shard_key': 's1',
        'auth_type': 'none',
        'endpoint_override': 'http://127.0.0.1:1',
    },
}
Line = tuple[str, str, object]


class Demands:
    """Keeps what the engine is asked for."""

    def __init__(self, current: Tuning) -> None:
        self.current = current
        self.wanted: list[Tuning] = []
        self.errors: list[str] = []
        self.refuse = self.errors.append

    def request(self, wanted: Tuning) -> None:
        self.wanted.append(wanted)
        self.current = wanted


class ReloadingCase(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(directory, 'ironic-ownership.conf')
        self.files = ['--config-file', str(self.file)]
        self.start()
        self.addCleanup(
            log_format.change_levels,
            log_format.read_levels(self.conf),
            {'': logging.getLogger().level},
        )

    def start(self, *changes: Line) -> None:
        """Start a process whose file is the good one with changes."""
        self.write(*changes)
        self.conf = new(self.files, 'test')
        options.register_opts(self.conf)
        if changes:
            options.open_ironic(self.conf)
        options.is_configured(self.conf)
        self.demands = Demands(settings.read(self.conf).tuning)
        self.reloading = sighup.Reloading(self.files, self.conf, self.demands)

    def write(self, *changes: Line) -> str:
        """Write the good file with changes; ``None`` takes a line out."""
        sections = {group: dict(lines) for group, lines in GOOD.items()}
        for group, name, value in changes:
            sections.setdefault(group, {})[name] = value
        text = ''
        for group, lines in sections.items():
            text += f'[{group}]\n'
            for name, value in lines.items():
                text += f'{name} = {value}\n' if value is not None else ''
        self.file.write_text(text)
        return text

    def apply(self, *changes: Line) -> Tuning:
        self.write(*changes)
        self.reloading.reload()
        self.assertEqual([], self.demands.errors)
        return self.demands.wanted.pop()

    def warned(self, *changes: Line) -> str:
        """Apply changes, and return the one warning of them."""
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.tuning = self.apply(*changes)
        (line,) = logs.output
        return line

    def refuse(self, *changes: Line) -> str:
        self.write(*changes)
        return self.refused()

    def refused(self) -> str:
        self.reloading.reload()
        self.assertEqual([], self.demands.wanted)
        (error,) = self.demands.errors
        self.demands.errors.clear()
        self.assertNotIn('\n', error)
        return error


class TestApplied(ReloadingCase):
    def test_scope_peers_intervals_and_limits_are_applied(self) -> None:
        remark = self.warned(
            ('ironic', 'shard_key', 's2'),
            ('ironic', 'peer_list', 'HOST2, host1'),
            ('membership', 'heartbeat_interval', 6),
            ('ownership', 'refresh_interval', 7),
            ('ownership', 'recheck_interval', 8),
            ('ownership', 'mass_loss_share', 0.9),
            ('ownership', 'mass_loss_minimum', 10),
        )
        self.assertIn('peer_list names HOST2: host names are', remark)
        tuning = self.tuning
        found: dict[str, model.Value] = {}
        for policy in tuning.advertised.policies:
            found |= dict(policy.options)
        self.assertEqual(
            {'shard_key': 's2', 'peer_list': ('host1', 'host2')}, found
        )
        self.assertEqual('s2', tuning.policies.scope.shard)
        intervals, limits = tuning.intervals, tuning.limits
        self.assertEqual((6, 7), (intervals.heartbeat, intervals.refresh))
        self.assertEqual(
            (8, 0.9, 10),
            (
                limits.recheck_interval,
                limits.mass_loss_share,
                limits.mass_loss_minimum,
            ),
        )
        # A line that is gone goes back to the default.
        self.assertEqual(60, self.apply().intervals.refresh)

    def test_other_policies_are_applied_named_or_derived(self) -> None:
        for policies in ('conductor_group', None, 'all'):
            group = 'g' if policies != 'all' else None
            tuning = self.apply(
                ('ownership', 'policies', policies),
                ('ironic', 'shard_key', None),
                ('ironic', 'conductor_group', group),
            )
            self.assertEqual(group, tuning.policies.scope.conductor_group)
            self.assertIsNone(tuning.policies.scope.shard)
            self.assertIsNone(tuning.policies.assigner)
        derived = self.apply(('ownership', 'policies', None))
        self.assertEqual('s1', derived.policies.scope.shard)

    def test_levels_change_at_once(self) -> None:
        named = logging.getLogger('ironic_ownership_reloading')
        for level, of_named, *lines in (
            (
                *(logging.DEBUG, logging.ERROR, ('DEFAULT', 'debug', True)),
                ('DEFAULT', 'default_log_levels', f'{named.name}=ERROR'),
            ),
            (logging.INFO, logging.NOTSET),
        ):
            self.apply(*lines)
            self.assertEqual(level, logging.getLogger().level)
            self.assertEqual(of_named, named.level)
        # A refused file changes none.
        self.refuse(
            ('DEFAULT', 'debug', True), ('ironic', 'shard_key', 'rack/1')
        )
        self.assertEqual(logging.INFO, logging.getLogger().level)


class TestPage(unittest.TestCase):
    def test_it_names_all_options_that_are_reloaded(self) -> None:
        page = checkout.PAGES / 'run' / 'reload.rst'
        text, *_ = page.read_text().partition('Options that need a restart')
        for _, name in sighup.RELOADABLE:
            self.assertIn(name, text)


class TestRestart(ReloadingCase):
    def test_options_that_need_one_are_named_once_and_not_applied(
        self,
    ) -> None:
        changes = (
            ('DEFAULT', 'host', 'host9'),
            ('DEFAULT', 'log_file', '/nonexistent/host.log'),
            ('DEFAULT', 'use_json', True),
            ('DEFAULT', 'log_config_append', '/nonexistent/log.conf'),
            ('ownership', 'backend', 'memory'),
            ('ownership', 'importable_policies', 'other'),
            ('membership', 'member_ttl', 50),
            ('membership', 'fence_margin', 2),
            ('database', 'connection', 'postgresql://me:hunter2@db/x'),
            ('database', 'max_retries', 3),
            ('ironic', 'endpoint_override', 'http://127.0.0.2:1'),
            ('ironic', 'page_size', 9),
            ('enforcement', 'shared_key', 'k' * 32),
        )
        self.start(('enforcement', 'shared_key', '$$key' * 9))
        # They are compared with the start, and not with the last try.
        for _ in range(2):
            line = self.warned(*changes, ('ironic', 'shard_key', 's2'))
            for group, name, _value in changes:
                self.assertIn(f'[{group}] {name}', line)
            self.assertNotIn('hunter2', line)
            self.assertNotIn('shard_key', line)
            self.assertEqual('s2', self.tuning.policies.scope.shard)
            self.assertEqual(logging.INFO, logging.getLogger().level)
        self.start()
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.apply()

    def test_interval_has_to_fit_the_ttl_that_counts_until_then(self) -> None:
        error = self.refuse(
            ('membership', 'heartbeat_interval', 10),
            ('membership', 'member_ttl', 60),
        )
        self.assertIn('member_ttl = 20 is less than three times', error)
        self.assertIn('need a restart', error)

    def test_peers_have_to_name_the_host_that_counts_until_then(self) -> None:
        error = self.refuse(
            ('DEFAULT', 'host', 'host9'),
            ('ironic', 'peer_list', 'host9,host2'),
        )
        self.assertIn("does not name this host, 'host1'", error)
        self.assertIn('[DEFAULT] host', error)


class TestRefused(ReloadingCase):
    def test_bad_values_are_named(self) -> None:
        for group, name, value in (
            ('ironic', 'shard_key', 'rack/1'),
            ('ironic', 'shard_key', ''),
            ('ironic', 'shard_key', None),
            ('ironic', 'peer_list', 'host2,host3'),
            ('ironic', 'conductor_group', 'g'),
            ('ironic', 'page_size', 'large'),
            ('DEFAULT', 'debug', 'perhaps'),
            ('DEFAULT', 'host', 'two words'),
            ('DEFAULT', 'default_log_levels', 'sqlalchemy=LOUD'),
            ('ownership', 'policies', 'shard_key,nope'),
            ('ownership', 'refresh_interval', 0),
            ('ownership', 'polices', 'all'),
            ('ironic', 'shard_kye', 'rack2'),
            ('membership', 'heartbeat_interval', 9),
            ('membership', 'fence_margin', 19),
            ('database', 'max_retries', 'many'),
        ):
            with self.subTest(name=name, value=value):
                words = {'policies': 'nope', 'heartbeat_interval': 'ttl'}
                error = self.refuse((group, name, value))
                self.assertIn(words.get(name, name), error)

    def test_cut_file_is_refused_and_never_widens_the_scope(self) -> None:
        text = self.write(('ironic', 'peer_list', 'host1,host2'))
        scope = text.index('shard_key = s1')
        for end in range(len(text)):
            # In any line, and between those before the scope.
            if end <= scope or text[end - 1] != '\n':
                self.file.write_text(text[:end])
                with self.subTest(end=text[max(0, end - 20) : end]):
                    self.refused()

    def test_file_that_only_lacks_options_never_widens_derived_policies(
        self,
    ) -> None:
        left_out = ('ownership', 'policies', None)
        group = ('ironic', 'conductor_group', 'g')
        self.apply(left_out, group)
        for lost in ('shard_key', 'conductor_group'):
            error = self.refuse(left_out, group, ('ironic', lost, None))
            self.assertIn(f'the policy {lost} has no option any more', error)
            self.assertIn('[ownership] policies', error)
        error = self.refuse(left_out, ('ironic', 'shard_key', None))
        self.assertIn('shard_key', error)
        # The hint can be carried out.
        tuning = self.apply(('ownership', 'policies', 'shard_key'))
        self.assertIsNone(tuning.policies.scope.conductor_group)

    def test_file_that_cannot_be_read_is_named(self) -> None:
        directory = self.file.parent / 'conf.d'
        directory.mkdir()
        part = directory / 'rack.conf'
        part.write_text('[ironic]\nshard_key = s')
        self.reloading = sighup.Reloading(
            [*self.files, '--config-dir', str(directory)],
            self.conf,
            self.demands,
        )
        self.assertIn(str(part), self.refused())
        part.write_text('[ironic]\nshard_key = s2\n')
        self.assertEqual('s2', self.apply().policies.scope.shard)
        self.file.write_bytes(b'\x00\xff' * 9)
        self.assertIn(str(self.file), self.refused())
        self.file.unlink()
        self.assertIn(str(self.file), self.refused())
        self.file.mkdir()
        self.assertIn(str(self.file), self.refused())


SOURCED = """
from ironic_ownership.contracts import options, policy

class Policy(policy.FilterPolicy):
    contract_version = 2
    sources = (options.Source('rack', lambda options: 'r', 'A rack.'),)
"""


class TestSources(third_party.ThirdPartyCase, ReloadingCase):
    def test_policy_with_a_source_needs_a_restart(self) -> None:
        self.install('sourced', SOURCED)
        error = self.refuse(('ownership', 'policies', 'shard_key, sourced'))
        self.assertIn('the policy sourced reads a source', error)
        self.assertIn('restart', error)


class KeystoneTest(ReloadingCase):
    """Credentials, whose options exist once a client was built."""

    credentials = {
        'auth_type': 'password',
        'auth_url': 'http://127.0.0.1:5000/v3',
        'username': 'ironic',
        'password': 'first',
        'user_domain_name': 'Default',
        'system_scope': 'all',
    }

    def test_only_the_changed_option_needs_a_restart(self) -> None:
        nothing = dict.fromkeys(('endpoint_override', 'auth_type'))
        for section, more in (
            ('ironic', {'endpoint_override': None}),
            ('keystone', {**nothing, 'auth_section': 'keystone'}),
        ):
            lines = (
                *(('ironic', name, value) for name, value in more.items()),
                *((section, *line) for line in self.credentials.items()),
            )
            self.start(*lines)
            with self.assertNoLogs(LOGGER, logging.WARNING):
                self.apply(*lines)
            line = self.warned(*lines, (section, 'password', 'second'))
            named = f'applied: [{section}] password'
            self.assertTrue(line.endswith(named), line)
            self.assertNotIn('second', line)
