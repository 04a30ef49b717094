"""A short run of the nemesis."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import unittest
from typing import Any

from tests.functional.support import databases, survived

_CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_SHORT = (
    *('--minutes', '0.3', '--storm', '18', '--pause', '1.5', '--seed', '3'),
    *('--nodes', '24', '--ask-interval', '0.1'),
)


class TestNemesis(unittest.TestCase):
    def run_lawfully(self, *arguments: str) -> dict[str, Any]:
        """Run it, and return its report."""
        directory = databases.temporary_directory('nemesis')
        with subprocess.Popen(
            [
                *(sys.executable, '-m', 'benchmarks.nemesis', *_SHORT),
                *('--directory', str(directory), *arguments),
            ],
            cwd=_CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as run:
            # It ends its processes.
            self.addCleanup(run.terminate)
            output, _ = run.communicate(timeout=600)
        self.assertEqual(0, run.returncode, output)
        report = json.loads((directory / 'report.json').read_text())
        self.assertEqual([], report['violations'])
        return dict(report)

    def test_ironic_refuses_requests_under_an_ended_right(self) -> None:
        report = self.run_lawfully(
            '--records', 'mariadb', '--request-interval', '0.5'
        )
        self.assertGreater(report['requests_admitted'], 0)
        self.assertGreater(report['requests_too_late'], 0)

    def test_laws_hold(self) -> None:
        report = self.run_lawfully()
        settings = report['settings']
        survived.note(
            f'nemesis: {settings["records"]}, {settings["members"]}',
            faults=sum(report['faults'].values()),
            events=report['events'],
            violations=len(report['violations']),
            unserved=report['longest']['free_node_unserved'],
        )
        self.assertGreater(sum(report['faults'].values()), 3)
        self.assertGreater(report['permissions_checked'], 10)
