"""The tests of the distribution for authors of plugins."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import testtools

_KIT = pathlib.Path(__file__).resolve().parents[2] / 'plugin_kit'


class TestOfTheKit(testtools.TestCase):
    def test_its_own_tests_pass(self) -> None:
        done = subprocess.run(
            [
                *(sys.executable, '-W', 'ignore', '-m', 'unittest'),
                *('discover', '--top-level-directory', '.', 'tests'),
            ],
            cwd=_KIT,
            env={**os.environ, 'PYTHONPATH': str(_KIT)},
            capture_output=True,
            text=True,
            timeout=1200,
        )
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        self.assertRegex(done.stderr, r'Ran [1-9]\d\d tests')
        self.assertNotIn('skipped', done.stderr)
