from __future__ import annotations

import os
import sys
from unittest import mock

from oslo_config import cfg

from ironic_ownership import plugins, wiring
from ironic_ownership.cmd import status
from ironic_ownership.conf.configuration import register_opts
from ironic_ownership.contracts import exceptions
from tests.unit import configurations, third_party

DOCK = """
from oslo_config import cfg

class Dock:
    OPTS = (cfg.StrOpt('berth'),)

    @staticmethod
    def open_companion(conf, database):
        return conf.dock.berth
"""


class TestCompanions(
    configurations.ConfiguredCase, third_party.ThirdPartyCase
):
    def install_dock(self, source: str = DOCK, name: str = 'dock') -> None:
        self.install(name, source, group=plugins.COMPANIONS, target='Dock')

    def test_group_without_its_distribution_names_what_to_install(
        self,
    ) -> None:
        written = '[nova]\ncell_schema = nova'
        self.assertIn('nova', self.configure(written))
        with mock.patch.object(plugins, 'entry_points', lambda _: ()):
            self.configure('')
            for text, environment in (
                (written, {}),
                ('', {'OS_NOVA__CELL_SCHEMA': 'nova'}),
            ):
                with (
                    mock.patch.dict(os.environ, environment),
                    self.assertRaises(exceptions.ConfigurationError) as caught,
                ):
                    self.configure(text)
                self.assertEqual(
                    '[nova] is for ironic-ownership-nova, which is not '
                    'installed. In a checkout of ironic-ownership, run '
                    f'{sys.prefix}/bin/pip install ./nova_driver',
                    str(caught.exception),
                )

    def test_upgrade_check_knows_the_options_of_a_companion(self) -> None:
        written = '[nova]\ncell_schema = n\nconfig_file = /nova.conf'
        conf = cfg.ConfigOpts()
        register_opts(conf, logs=False)
        conf(['--config-file', self.configure(written).config_file[0]])
        self.forget()
        found = status.Checks(conf).configuration()
        self.assertEqual((None, 0), (found.details, found.code))

    def test_environment_configures_a_companion_as_well(self) -> None:
        with mock.patch.dict(os.environ, {'OS_NOVA__CELL_SCHEMA': 'n'}):
            self.assertEqual('n', self.configure('').nova.cell_schema)

    def test_companion_of_another_package_is_opened_as_ours_is(self) -> None:
        self.install_dock()
        conf = self.configure('[dock]\nberth = 7')
        self.assertEqual('7', wiring.Wiring(conf).companion)
        self.assertIsNone(wiring.Wiring(self.configure('')).companion)
        self.assertIn('dock', dict(wiring.list_opts()))

    def test_companion_that_no_group_configures_is_not_imported(self) -> None:
        self.install_dock('raise SystemExit')
        self.configure('[nova]\ncell_schema = n')
        self.install_dock('class Dock: ...', 'quay')
        for name, fault in (
            ('dock', 'cannot be loaded'),
            ('quay', 'open_companion'),
        ):
            with self.assertRaisesRegex(exceptions.ConfigurationError, fault):
                self.configure(f'[{name}]\nberth = 7')
