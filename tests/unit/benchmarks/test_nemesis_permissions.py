"""The nemesis finds permissions that should have been refusals."""

from __future__ import annotations

import pathlib
import tempfile

import testtools

from benchmarks.nemesis import permissions
from benchmarks.nemesis.answers import Answer
from benchmarks.nemesis.history import History
from benchmarks.nemesis.journal import Journal


class PermissionsTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.history = History((), {}, lambda *_: None)
        self.history.owned_at['n'] = [(10.0, 'ha'), (20.0, 'hb')]
        self.history.right_at['ha'] = [(5.0, True)]
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.journal = Journal(pathlib.Path(directory.name, 'faults.log'))
        self.checked = permissions.Permissions(self.history, 1.0, self.journal)

    def wrong(self, begin: float, end: float, host: str = 'ha') -> list[str]:
        answer = Answer(f'{host}_1', host, host, begin, end, 'n', 'held')
        return [reason for _, reason in self.checked.wrong([answer])]

    def test_owner_may_act(self) -> None:
        self.assertEqual([], self.wrong(11, 12))

    def test_act_may_be_late_by_the_age_of_a_permission(self) -> None:
        self.assertEqual([], self.wrong(20.2, 21.2))

    def test_act_long_after_the_change_is_wrong(self) -> None:
        (reason,) = self.wrong(11, 28)
        self.assertIn('does not own the node for 8.00 s', reason)

    def test_service_that_never_owned_is_wrong(self) -> None:
        (reason,) = self.wrong(11, 12, 'hc')
        self.assertIn('never did', reason)

    def test_fenced_service_is_wrong(self) -> None:
        self.history.right_at['ha'].append((12.0, False))
        (reason,) = self.wrong(15, 15.1)
        self.assertIn('is fenced for 3.10 s', reason)
