"""Both modes of ``tools/run-tests``: together they run each test once."""

from __future__ import annotations

import re
import unittest

from tests.unit.checkout import ROOT

_FAULTS = 'tests.functional.faults.'


class TestModes(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        script = (ROOT / 'tools' / 'run-tests').read_text()
        self.excluded = re.findall(r"^ *excluded='(.+)'$", script, re.M)
        self.assertEqual(2, len(self.excluded), script)

    def run_by(self, test: str) -> list[bool]:
        """Tell whether each mode runs a test: the others, the faults."""
        return [not re.search(regex, test) for regex in self.excluded]

    def test_each_module_is_run_by_one_mode(self) -> None:
        modules = {
            '.'.join(path.relative_to(ROOT).with_suffix('').parts)
            for path in (ROOT / 'tests').rglob('test_*.py')
        }
        faults = {name for name in modules if name.startswith(_FAULTS)}
        self.assertTrue(faults)
        self.assertLess(faults, modules)
        for name in modules:
            with self.subTest(name):
                is_fault = name in faults
                self.assertEqual(
                    [not is_fault, is_fault], self.run_by(f'{name}.TestX.test')
                )

    def test_id_outside_of_the_tests_is_run_by_the_first_mode(self) -> None:
        # A state machine of hypothesis has such an id.
        test = 'hypothesis.stateful.X.TestCase.runTest'
        self.assertEqual([True, False], self.run_by(test))
