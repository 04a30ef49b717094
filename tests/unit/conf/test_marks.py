"""Marks of options for operators' tools: deprecated, and mutable."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import unittest

from oslo_config import cfg

from ironic_ownership import plugins, wiring
from ironic_ownership.cmd import sighup
from ironic_ownership.conf import configuration


class TestMarks(unittest.TestCase):
    def listed(self) -> dict[tuple[str, str], cfg.Opt]:
        return {
            (group, option.dest): option
            for group, options in wiring.list_opts()
            for option in options
        }

    def test_validator_warns_of_deprecated_options(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(directory) / 'old.conf'
        path.write_text('[ironic]\npeer_list = a\npartition_key = b\n')
        done = subprocess.run(
            [
                *(sys.executable, '-m', 'oslo_config.validator'),
                *('--namespace', 'ironic_ownership', '--fatal-warnings'),
                *('--input-file', str(path)),
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(1, done.returncode, done)
        warnings = [
            line for line in done.stderr.splitlines() if 'WARNING' in line
        ]
        self.assertEqual(2, len(warnings), done.stderr)
        for name in ('peer_list', 'partition_key'):
            text = f'Deprecated opt ironic/{name} found'
            self.assertIn(text, '\n'.join(warnings))

    def test_use_of_a_deprecated_option_is_logged_by_the_host_only(
        self,
    ) -> None:
        target = plugins.policies(['peer_list'])['peer_list']
        declared = configuration.declared('peer_list', target)
        self.assertTrue(declared)
        for _, option in declared:
            self.assertFalse(option.deprecated_for_removal)

    def test_mutable_options_are_those_that_are_reloaded(self) -> None:
        mutable = {name for name, opt in self.listed().items() if opt.mutable}
        of_policies = {
            ('ironic', 'conductor_group'),
            ('ironic', 'peer_list'),
            ('ironic', 'shard_key'),
        }
        expected = sighup.RELOADABLE | of_policies
        ours = {'ironic', 'ownership', 'membership'}
        self.assertLessEqual(
            {one for one in expected if one[0] in ours}, mutable
        )
        self.assertNotIn(('membership', 'member_ttl'), mutable)
        self.assertNotIn(('ownership', 'backend'), mutable)
