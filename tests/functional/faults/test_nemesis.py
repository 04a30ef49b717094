"""A short run of the nemesis."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import testtools

from tests.functional.support import databases, survived

_CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_SHORT = (
    *('--minutes', '0.3', '--storm', '18', '--pause', '1.5'),
    *('--nodes', '24', '--ask-interval', '0.1'),
)
_TIMEOUT = 600


class Started:
    """A run that was started, and its report."""

    def __init__(self, *arguments: str) -> None:
        self._directory = databases.temporary_directory('nemesis')
        self._process = subprocess.Popen(
            [
                *(sys.executable, '-m', 'benchmarks.nemesis', *_SHORT),
                *('--directory', str(self._directory), *arguments),
            ],
            cwd=_CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self) -> tuple[int, str]:
        """Return the exit code and the output."""
        output, _ = self._process.communicate(timeout=_TIMEOUT)
        return self._process.returncode, output

    def report(self) -> dict[str, Any]:
        """Return the report after the end."""
        text = (self._directory / 'report.json').read_text()
        found: dict[str, Any] = json.loads(text)
        return found

    def stop(self) -> None:
        """End the run early; it ends its processes."""
        self._process.terminate()
        self._process.wait()


class TestNemesis(testtools.TestCase):
    def start(self, *arguments: str) -> Started:
        started = Started(*arguments)
        self.addCleanup(started.stop)
        return started

    def run_lawfully(self, *arguments: str) -> dict[str, Any]:
        run = self.start('--seed', '3', *arguments)
        code, output = run.end()
        self.assertEqual(0, code, output)
        report = run.report()
        self.assertEqual([], report['violations'])
        return report

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
