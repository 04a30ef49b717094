"""The nemesis finds permissions that should have been refusals."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

from benchmarks.nemesis import permissions
from benchmarks.nemesis.answers import Answer
from benchmarks.nemesis.history import History
from benchmarks.nemesis.journal import Journal


class PermissionsTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.history = History((), {}, lambda *_: None)
        self.history.owned_at['n'] = [(10.0, 'ha'), (20.0, 'hb')]
        self.history.owned_at['m'] = [(10.0, 'hd')]
        self.history.right_at['ha'] = [(5.0, True)]
        self.history.right_at['hd'] = [(5.0, True), (10.0, False)]
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.journal = Journal(pathlib.Path(directory.name, 'faults.log'))
        self.checked = permissions.Permissions(self.history, 1.0, self.journal)

    def wrong(self, begin: float, end: float, host: str) -> list[str]:
        node = 'm' if host == 'hd' else 'n'
        answer = Answer(f'{host}_1', host, host, begin, end, node, 'held')
        return [reason for _, reason in self.checked.wrong([answer])]

    def test_only_the_owner_may_act_and_only_with_its_right(self) -> None:
        for begin, end, host, reasons in (
            (11, 12, 'ha', []),
            # It may be late by the age of a permission.
            (20.2, 21.2, 'ha', []),
            (11, 28, 'ha', ['does not own the node for 8.00 s']),
            (11, 12, 'hc', ['never did']),
            (13, 13.1, 'hd', ['is fenced for 3.10 s']),
        ):
            with self.subTest(host, end=end):
                found = self.wrong(begin, end, host)
                self.assertEqual(len(reasons), len(found), found)
                for words, reason in zip(reasons, found, strict=True):
                    self.assertIn(words, reason)
