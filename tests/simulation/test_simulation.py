"""The laws hold in simulated schedules, and the checker can see them broken.

Each run is a process of its own, without random hashes: a seed repeats it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

from tests.simulation import mutants, stories

FIXED = '20000'
THREE = ('--schedules', '3')


def simulate(*options: str, module: str = 'tests.simulation') -> str:
    """Run schedules; return the output, which names the seeds."""
    found = subprocess.run(
        [sys.executable, '-m', module, *options],
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONHASHSEED': '0'},
        check=False,
    )
    output = found.stdout + found.stderr
    if found.returncode:
        raise AssertionError(output)
    return output


class TestLaws(unittest.TestCase):
    def test_stories_fixed_and_fresh_schedules_break_no_law(self) -> None:
        simulate('--seed', FIXED, '--minutes', '0.3', '--stories', '1')
        print(simulate('--minutes', '0.3'))

    def test_seed_repeats_a_schedule(self) -> None:
        first, second = (
            re.findall('digest (.*)', simulate('--seed', FIXED, *THREE))
            for _ in range(2)
        )
        self.assertEqual(first, second)


class TestStories(unittest.TestCase):
    def test_each_story_is_documented(self) -> None:
        page = (mutants.ROOT / 'doc/source/know/stories.rst').read_text()
        for path in stories.DIRECTORY.iterdir():
            self.assertIn(f'stories/{path.name}\n', page)


class TestPower(unittest.TestCase):
    def test_broken_products_are_found(self) -> None:
        for mutant, story in (
            ('writers are not checked', 'forced-down-in-a-refresh'),
            ('a permission is not bound to the term', 'guard-after-a-fence'),
        ):
            with self.subTest(mutant):
                output = simulate(
                    mutant,
                    *('--stories', '40', '--story', story, '--minutes', '0'),
                    module='tests.simulation.mutants',
                )
                self.assertIn('0 survivors', output)

    def test_each_mutant_changes_one_place(self) -> None:
        for mutant in mutants.MUTANTS:
            path = mutants.ROOT / mutants.PACKAGE / mutant.file
            with self.subTest(mutant.name):
                self.assertEqual(1, path.read_text().count(mutant.old))
