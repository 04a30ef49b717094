"""Unknown names in configuration files, and no false alarm about others."""

from __future__ import annotations

import pathlib
import re

from ironic_ownership.wiring import unknown_options
from tests.unit import configurations

NO_EFFECT = '[{}] {} is no option, and has no effect'
SAMPLES = pathlib.Path(__file__).parents[3] / 'etc/ironic_ownership'


class TestUnknownOptions(configurations.ConfiguredCase):
    def remarks(self, text: str) -> list[str]:
        return unknown_options.remarks(self.configure(text))

    def test_every_line_of_the_sample_is_known(self) -> None:
        sample = (SAMPLES / 'ironic-ownership.conf.sample').read_text()
        # An example of a value may be none for its type: only names count.
        lines = [
            f'{match[1]} = '
            if (match := re.match(r'#([a-z][a-z0-9_]*) = ', line))
            else line
            for line in sample.splitlines()
        ]
        written: dict[str, dict[str, object]] = {}
        for line in lines:
            if line.startswith('['):
                group = written.setdefault(line.strip('[]'), {})
            elif line.endswith(' = ') and not line.startswith('#'):
                group[line[:-3]] = []
        self.assertGreater(sum(map(len, written.values())), 200)
        known = unknown_options.known(self.configure(''))
        self.assertEqual([], list(unknown_options.find(written, known)))

    def test_examples_are_known(self) -> None:
        for path in sorted(SAMPLES.glob('examples/*.conf')):
            self.assertEqual([], self.remarks(path.read_text()), path)

    def test_mistyped_option_with_the_nearest_name(self) -> None:
        self.assertEqual(
            NO_EFFECT.format('membership', 'watch_intervall')
            + ': did you mean watch_interval?',
            *self.remarks('[membership]\nwatch_intervall = 5'),
        )

    def test_option_in_the_wrong_group(self) -> None:
        self.assertEqual(
            NO_EFFECT.format('ownership', 'heartbeat_interval')
            + ': it belongs to [membership]',
            *self.remarks('[ownership]\nheartbeat_interval = 5'),
        )

    def test_mistyped_group(self) -> None:
        self.assertEqual(
            ['[onwership] is no group of options: did you mean ownership?'],
            self.remarks('[onwership]\npolicies = all'),
        )
        self.assertEqual(
            ['[xyz] is no group of options'], self.remarks('[xyz]\na = 1')
        )

    def test_names_that_oslo_config_takes_as_well(self) -> None:
        for text in (
            '[ironic]\npartition_key = g',
            '[ironic]\nauth_type = password\nuser-domain-name = Default',
            '[ironic]\nauth_type = password\nuser_name = x\ntenant_name = y',
            '[ironic]\nauth_section = other\n[other]\nauth_type = none',
            '[MEMBERSHIP]\nheartbeat-interval = 5',
            '[DEFAULT]\nlogfile = x\ndebug = true',
        ):
            self.assertEqual([], self.remarks(text), text)

    def test_groups_of_libraries_and_of_plugins_that_are_not_in_use(
        self,
    ) -> None:
        for text in (
            '[keystone_authtoken]\nany = 1',
            '[oslo_policy]\nenforce_scope = true',
            '[backend_tooz]\nbackend_url = etcd3+http://127.0.0.1',
            '[api]\nauth_strategy = keystone',
        ):
            self.assertEqual([], self.remarks(text), text)
        self.assertEqual(1, len(self.remarks('[backend_toz]\nurl = x')))

    def test_group_of_a_library_that_nothing_here_reads(self) -> None:
        for group in (
            *('ssl', 'cors', 'profiler', 'oslo_concurrency', 'oslo_reports'),
            'audit_middleware_notifications',
        ):
            (remark,) = self.remarks(f'[{group}]\nenabled = true')
            self.assertIn(f'[{group}] is no group of options', remark)
