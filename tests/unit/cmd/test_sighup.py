from __future__ import annotations

import logging
import pathlib
import tempfile
import unittest

from ironic_ownership import settings
from ironic_ownership.clients.ironic import client
from ironic_ownership.clients.placement.options import is_configured
from ironic_ownership.cmd import sighup
from ironic_ownership.conf import log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import model
from ironic_ownership.engine.host.tuning import Tuning
from tests.unit import third_party

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


class Demands:
    """Keeps what the engine is asked for."""

    def __init__(self, current: Tuning) -> None:
        self.current = current
        self.wanted: list[Tuning] = []
        self.errors: list[str] = []

    def request(self, wanted: Tuning) -> None:
        self.wanted.append(wanted)
        self.current = wanted

    def refuse(self, error: str) -> None:
        self.errors.append(error)


class ReloadingCase(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = pathlib.Path(directory.name, 'ironic-ownership.conf')
        self.write()
        self.files = ['--config-file', str(self.file)]
        self.conf = new(self.files, 'test')
        client.register_opts(self.conf)
        is_configured(self.conf)
        self.demands = Demands(settings.read(self.conf).tuning)
        self.addCleanup(
            log_format.change_levels,
            log_format.read_levels(self.conf),
            {'': logging.getLogger().level},
        )
        self.reloading = sighup.Reloading(self.files, self.conf, self.demands)

    def write(self, *changes: tuple[str, str, object]) -> str:
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

    def apply(self, *changes: tuple[str, str, object]) -> Tuning:
        self.write(*changes)
        self.reloading.reload()
        self.assertEqual([], self.demands.errors)
        return self.demands.wanted.pop()

    def options(self, tuning: Tuning) -> dict[str, model.Value]:
        return {
            name: value
            for policy in tuning.advertised.policies
            for name, value in policy.options
        }

    def refuse(self, *changes: tuple[str, str, object]) -> str:
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
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            tuning = self.apply(
                ('ironic', 'shard_key', 's2'),
                ('ironic', 'peer_list', 'HOST2, host1'),
                ('membership', 'heartbeat_interval', 6),
                ('ownership', 'refresh_interval', 7),
                ('ownership', 'recheck_interval', 8),
                ('ownership', 'mass_loss_share', 0.9),
                ('ownership', 'mass_loss_minimum', 10),
            )
        self.assertEqual(
            {'shard_key': 's2', 'peer_list': ('host1', 'host2')},
            self.options(tuning),
        )
        (remark,) = logs.output
        self.assertIn('peer_list names HOST2: host names are', remark)
        self.assertEqual('s2', tuning.policies.scope.shard)
        limits = tuning.limits
        self.assertEqual(
            (6, 7, 8, 0.9, 10),
            (
                tuning.intervals.heartbeat,
                tuning.intervals.refresh,
                limits.recheck_interval,
                limits.mass_loss_share,
                limits.mass_loss_minimum,
            ),
        )

    def test_line_that_is_gone_goes_back_to_the_default(self) -> None:
        self.apply(('ownership', 'refresh_interval', 7))
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
        self.apply(
            ('DEFAULT', 'debug', True),
            ('DEFAULT', 'default_log_levels', f'{named.name}=ERROR'),
        )
        self.assertEqual(logging.DEBUG, logging.getLogger().level)
        self.assertEqual(logging.ERROR, named.level)
        self.apply()
        self.assertEqual(logging.INFO, logging.getLogger().level)
        self.assertEqual(logging.NOTSET, named.level)


class TestRestart(ReloadingCase):
    def test_options_that_need_one_are_named_once_and_not_applied(
        self,
    ) -> None:
        self.write(
            ('DEFAULT', 'host', 'host9'),
            ('DEFAULT', 'log_file', '/nonexistent/host.log'),
            ('DEFAULT', 'use_json', True),
            ('ownership', 'backend', 'memory'),
            ('membership', 'member_ttl', 50),
            ('membership', 'fence_margin', 2),
            ('database', 'connection', 'postgresql://me:hunter2@db/x'),
            ('database', 'max_retries', 3),
            ('ironic', 'endpoint_override', 'http://127.0.0.2:1'),
            ('ironic', 'page_size', 9),
            ('ironic', 'shard_key', 's2'),
        )
        with self.assertLogs(LOGGER, 'WARNING') as logs:
            self.reloading.reload()
        (line,) = logs.output
        for name in (
            '[DEFAULT] host',
            '[DEFAULT] log_file',
            '[DEFAULT] use_json',
            '[ownership] backend',
            '[membership] member_ttl',
            '[membership] fence_margin',
            '[database] connection',
            '[database] max_retries',
            '[ironic] endpoint_override',
            '[ironic] page_size',
        ):
            self.assertIn(name, line)
        self.assertNotIn('hunter2', line)
        self.assertNotIn('shard_key', line)
        (tuning,) = self.demands.wanted
        self.assertEqual('s2', tuning.policies.scope.shard)

    def test_they_are_compared_with_the_start_and_not_with_the_last_try(
        self,
    ) -> None:
        for _ in range(2):
            self.write(('membership', 'member_ttl', 50))
            with self.assertLogs(LOGGER, 'WARNING') as logs:
                self.reloading.reload()
            self.assertIn('member_ttl', logs.output[0])
        with self.assertNoLogs(LOGGER, 'WARNING'):
            self.write()
            self.reloading.reload()

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
            ('ownership', 'refresh_interval', 'often'),
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

    def test_refused_file_changes_no_level(self) -> None:
        before = logging.getLogger().level
        self.refuse(
            ('DEFAULT', 'debug', True), ('ironic', 'shard_key', 'rack/1')
        )
        self.assertEqual(before, logging.getLogger().level)

    def test_file_cut_in_a_line_is_refused_wherever_it_is_cut(self) -> None:
        text = self.write(('ironic', 'peer_list', 'host1,host2'))
        for end in range(len(text)):
            self.file.write_text(text[:end])
            if not text[:end].endswith('\n'):
                with self.subTest(end=text[max(0, end - 20) : end]):
                    self.refused()

    def test_file_cut_between_lines_never_widens_the_scope(self) -> None:
        lines = self.write().splitlines(keepends=True)
        for number in range(lines.index('shard_key = s1\n') + 1):
            self.file.write_text(''.join(lines[:number]))
            with self.subTest(lines=number):
                self.refused()

    def test_file_that_only_lacks_options_never_widens_derived_policies(
        self,
    ) -> None:
        left_out = ('ownership', 'policies', None)
        self.apply(left_out, ('ironic', 'conductor_group', 'g'))
        for lost in ('shard_key', 'conductor_group'):
            error = self.refuse(
                left_out,
                ('ironic', 'conductor_group', 'g'),
                ('ironic', lost, None),
            )
            self.assertIn(f'the policy {lost} has no option any more', error)
            self.assertIn('[ownership] policies', error)
        error = self.refuse(left_out, ('ironic', 'shard_key', None))
        self.assertIn('shard_key', error)
        # The hint can be carried out.
        tuning = self.apply(('ownership', 'policies', 'shard_key'))
        self.assertIsNone(tuning.policies.scope.conductor_group)

    def test_unfinished_file_of_a_directory_is_refused_and_named(self) -> None:
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

    def test_file_that_is_gone_or_no_text_is_named(self) -> None:
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

    keystone = (
        ('ironic', 'auth_type', 'password'),
        ('ironic', 'auth_url', 'http://127.0.0.1:5000/v3'),
        ('ironic', 'username', 'ironic'),
        ('ironic', 'password', 'first'),
        ('ironic', 'user_domain_name', 'Default'),
        ('ironic', 'system_scope', 'all'),
        ('ironic', 'endpoint_override', None),
    )

    def setUp(self) -> None:
        super().setUp()
        self.write(*self.keystone)
        self.conf = new(self.files, 'test')
        client.open_ironic(self.conf)
        is_configured(self.conf)
        settings.read(self.conf)
        self.reloading = sighup.Reloading(self.files, self.conf, self.demands)

    def test_only_the_changed_option_needs_a_restart(self) -> None:
        with self.assertLogs(LOGGER, logging.WARNING) as logs:
            self.apply(*self.keystone, ('ironic', 'password', 'second'))
        (line,) = logs.output
        self.assertTrue(line.endswith('applied: [ironic] password'), line)
        self.assertNotIn('second', line)

    def test_credentials_of_another_section_are_compared(self) -> None:
        elsewhere = [('keystone', name, v) for _, name, v in self.keystone]
        lines = [
            *((group, name, None) for group, name, _ in self.keystone),
            ('ironic', 'auth_section', 'keystone'),
            *(line for line in elsewhere if line[2] is not None),
        ]
        self.write(*lines)
        self.conf = new(self.files, 'test')
        client.open_ironic(self.conf)
        is_configured(self.conf)
        settings.read(self.conf)
        self.reloading = sighup.Reloading(self.files, self.conf, self.demands)
        with self.assertNoLogs(LOGGER, logging.WARNING):
            self.apply(*lines)
        with self.assertLogs(LOGGER, logging.WARNING) as logs:
            self.apply(*lines, ('keystone', 'password', 'second'))
        self.assertIn('[keystone] password', logs.output[0])
