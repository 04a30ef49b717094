from __future__ import annotations

import pathlib
import tempfile
import unittest

from nova import exception
from oslo_config import cfg

from ironic_ownership_nova import options, settings

_ETC = pathlib.Path(__file__).parents[2] / 'etc' / 'ironic_ownership'


class SettingsTest(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)
        self.nova = self.write('nova.conf', '[DEFAULT]\nhost = Host1\n')

    def write(self, name: str, text: str) -> str:
        path = self.home / name
        path.write_text(text)
        return str(path)

    def read(self) -> settings.Settings:
        conf = cfg.ConfigOpts()
        options.register_opts(conf)
        conf.register_opt(cfg.StrOpt('host'))
        for option in (
            cfg.StrOpt('shard'),
            cfg.StrOpt('conductor_group'),
            cfg.ListOpt('peer_list', default=[]),
        ):
            conf.register_opt(option, 'ironic')
        conf([f'--config-file={self.nova}'], default_config_dirs=[])
        return settings.read(conf)

    def test_named_files_replace_the_default(self) -> None:
        own = self.write('a.conf', '[database]\nconnection = sqlite://\n')
        more = self.write('b.conf', '[nova]\ncell_schema = nova\n')
        self.write(
            'nova.conf',
            f'[ironic_ownership]\nconfig_file = {own}\nconfig_file = {more}\n',
        )
        found = self.read()
        self.assertEqual((self.nova, own, more), found.files)
        self.assertTrue(found.follows_records)

    def test_file_of_nova_may_have_all_options(self) -> None:
        kolla = _ETC / 'kolla' / 'nova-compute-ironic.conf'
        self.write(
            'nova.conf',
            kolla.read_text().replace('/etc/nova/nova.conf', self.nova),
        )
        found = self.read()
        self.assertEqual((self.nova, self.nova), found.files)
        self.assertTrue(found.follows_records)

    def test_host_is_that_of_nova_and_inventories_are_its_own(self) -> None:
        with self.assertRaisesRegex(
            exception.InvalidConfiguration, 'ironic-ownership.conf'
        ):
            self.read()
        database = '[database]\nconnection = sqlite://\n'
        own = self.write('ironic-ownership.conf', database)
        # It is beside that of Nova and counts more.
        self.assertEqual((self.nova, own), self.read().files)
        self.assertFalse(self.read().follows_records)
        self.assertEqual(
            {
                ('DEFAULT', 'host'): 'Host1',
                ('placement', 'report_inventory'): False,
                ('ownership', 'policies'): ['peer_list'],
                ('ironic', 'peer_list'): [],
            },
            dict(self.read().overrides),
        )

    def test_dollar_in_a_password_is_named_without_what_follows(self) -> None:
        for text in ('a$hunter2', 'a${hun.ter2}'):
            self.write(
                'ironic-ownership.conf', f'[database]\nconnection = {text}\n'
            )
            with self.assertRaises(exception.InvalidConfiguration) as caught:
                self.read()
            self.assertIn('a $ is written $$', str(caught.exception))
            self.assertNotIn('ter2', str(caught.exception))

    def test_wait_without_an_end_is_refused(self) -> None:
        for name, text in (
            *(('guard_patience', text) for text in ('nan', 'inf', '1e10')),
            ('conductor_check_interval', '10000000000'),
        ):
            self.write('nova.conf', f'[ironic_ownership]\n{name} = {text}\n')
            with self.assertRaisesRegex(
                exception.InvalidConfiguration, f'{name} = '
            ):
                self.read()

    def test_policies_follow_from_nova_unless_they_are_named(self) -> None:
        database = '[database]\nconnection = sqlite://\n'
        self.write('ironic-ownership.conf', database)
        self.write(
            'nova.conf',
            '[DEFAULT]\nhost = h1\n[ironic]\nconductor_group = g\n'
            'peer_list = h1, h2\n',
        )
        self.assertEqual(
            ['conductor_group', 'peer_list'],
            self.read().overrides['ownership', 'policies'],
        )
        own = f'{database}[ownership]\npolicies = all\n'
        self.write('ironic-ownership.conf', own)
        self.assertNotIn(('ownership', 'policies'), self.read().overrides)

    def test_database_of_nova_is_not_taken_for_that_of_the_records(
        self,
    ) -> None:
        self.write('nova.conf', '[database]\nconnection = sqlite://\n')
        self.write('ironic-ownership.conf', '')
        with self.assertRaisesRegex(
            exception.InvalidConfiguration, 'connection'
        ):
            self.read()
