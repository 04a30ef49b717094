"""One deployment on SQLite, asked and misused on the command line."""

from __future__ import annotations

import unittest

from tests.functional.support import command_line

LISTINGS = ('service list', 'member list', 'policy list', 'backend list')


class CommandLineTestCase(unittest.TestCase):
    """Commands on a deployment of one test.

    :ivar lab: the deployment.
    """

    def setUp(self) -> None:
        super().setUp()
        self.lab = command_line.Deployment()
        self.addCleanup(self.lab.close)

    def assert_refused(
        self, done: command_line.Done, code: int, *words: str
    ) -> None:
        self.assertEqual((code, ''), (done.returncode, done.stdout), done)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertTrue(
            done.stderr.startswith('ironic-ownership: error: '), done.stderr
        )
        self.assertNotIn('unexpected', done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
