"""Marks of options for operators' tools: deprecated, and mutable."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import unittest

from ironic_ownership import plugins, wiring
from ironic_ownership.cmd import sighup
from ironic_ownership.conf import configuration
from tests.unit import checkout

DEPRECATED = ('peer_list', 'partition_key')


class TestMarks(unittest.TestCase):
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
        lines = done.stderr.splitlines()
        warnings = [line for line in lines if 'WARNING' in line]
        self.assertEqual(2, len(warnings), done.stderr)
        for name in DEPRECATED:
            text = f'Deprecated opt ironic/{name} found'
            self.assertIn(text, '\n'.join(warnings))
        # The use of one is logged by the host only.
        target = plugins.policies(['peer_list'])['peer_list']
        ((_, option),) = configuration.declared('peer_list', target)
        self.assertFalse(option.deprecated_for_removal)

    def test_mutable_options_are_those_that_are_reloaded(self) -> None:
        mutable = {
            (group, option.dest)
            for group, options in wiring.list_opts()
            for option in options
            if option.mutable
        }
        of_policies = ('conductor_group', 'peer_list', 'shard_key')
        ours = {
            one
            for one in sighup.RELOADABLE
            if one[0] in ('ironic', 'ownership', 'membership')
        }
        ours |= {('ironic', name) for name in of_policies}
        self.assertLessEqual(ours, mutable)
        page = (checkout.ROOT / 'doc/source/run/reload.rst').read_text()
        self.assertEqual([], [one for one in ours if one[1] not in page])
        for name in (('membership', 'member_ttl'), ('ownership', 'backend')):
            self.assertNotIn(name, mutable)
