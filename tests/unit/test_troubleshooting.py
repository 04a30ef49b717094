"""Pages for faults quote the program, and describe all its findings."""

from __future__ import annotations

import re
import unittest

from ironic_ownership.cli import app
from ironic_ownership.engine.checks import runner
from tests.unit.checkout import PACKAGE, PAGES

_PAGE = PAGES / 'run' / 'troubleshooting.rst'
_JOINED = re.compile(r"""['"]\s*\n\s*f?['"]""")
_COMMAND = re.compile(r'``(?:ironic-ownership )?([a-z]+(?: [a-z-]+)*)')
_FINDINGS = re.compile(r'^\.\. finding:: (.*(?:\n {13}.*)*)', re.MULTILINE)
_ROW = re.compile(r'^   \* - (.*(?:\n     (?!- ).*)*)', re.MULTILINE)


class TestTroubleshooting(unittest.TestCase):
    def rows(self, title: str) -> list[str]:
        """Return the first column of the table below a title."""
        text = _PAGE.read_text().partition(f'{title}\n===')[2]
        return _ROW.findall(text.partition('\n====')[0])[1:]

    def test_lines_of_the_log_are_those_of_the_program(self) -> None:
        source = '\n'.join(
            _JOINED.sub('', path.read_text()) for path in PACKAGE.rglob('*.py')
        )
        rows = self.rows('Lines of the log')
        self.assertGreater(len(rows), 15)
        for row in rows:
            (quoted,) = re.findall('``([^`]+)``', row)
            self.assertIn(' '.join(quoted.split()), source)

    def test_commands_of_the_symptoms_exist(self) -> None:
        known = {name for name, _ in app.registry()}
        objects = {name.split()[0] for name in known}
        text = ' '.join(_PAGE.read_text().split())
        found = [
            command
            for command in _COMMAND.findall(text)
            if command.split()[0] in objects and ' ' in command
        ]
        self.assertGreater(len(found), 8)
        for command in found:
            self.assertTrue(
                any(command.startswith(name) for name in known), command
            )


class TestFindings(unittest.TestCase):
    def test_every_finding_of_the_check_has_an_entry(self) -> None:
        page = (PAGES / 'know' / 'findings.rst').read_text()
        described = ' '.join(_FINDINGS.findall(page)).split()
        self.assertEqual(len(set(described)), len(described))
        self.assertLessEqual(runner.CODES, set(described))
