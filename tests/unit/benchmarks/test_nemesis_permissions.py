"""The nemesis finds permissions that should have been refusals."""

from __future__ import annotations

import pathlib

import fixtures
import testtools

from benchmarks.nemesis import permissions
from benchmarks.nemesis.answers import Answer
from benchmarks.nemesis.history import History
from benchmarks.nemesis.journal import Entry, Journal


class PermissionsTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.useFixture(fixtures.TempDir()).path
        self.journal = Journal(pathlib.Path(directory) / 'faults.log')
        self.history = History((), {}, lambda *_: None)
        self.history.owned_at['n'] = [(10.0, 'ha'), (20.0, 'hb')]
        self.history.right_at['ha'] = [(5.0, True)]
        self.checked = permissions.Permissions(self.history, self.journal)

    def wrong(self, begin: float, end: float, host: str = 'ha') -> list[str]:
        answer = Answer(f'{host}_1', host, host, begin, end, 'n')
        return [reason for _, reason in self.checked.wrong([answer])]

    def test_owner_may_act(self) -> None:
        self.assertEqual([], self.wrong(11, 12))

    def test_answer_that_crosses_the_change_may_be_late_by_one_read(
        self,
    ) -> None:
        self.assertEqual([], self.wrong(11, 20.5))

    def test_answer_long_after_the_change_is_wrong(self) -> None:
        (reason,) = self.wrong(11, 28)
        self.assertIn('does not own the node for 8.00 s', reason)

    def test_service_that_never_owned_is_wrong(self) -> None:
        (reason,) = self.wrong(11, 12, 'hc')
        self.assertIn('never did', reason)

    def test_fenced_service_is_wrong(self) -> None:
        self.history.right_at['ha'].append((12.0, False))
        (reason,) = self.wrong(15, 15.1)
        self.assertIn('is fenced for 3.10 s', reason)

    def test_time_in_which_the_process_stands_still_does_not_count(
        self,
    ) -> None:
        self.journal._entries.append(Entry(19.0, 'freeze', 'ha', end=27.5))
        self.assertEqual([], self.wrong(18.9, 28))
        self.assertEqual(1, len(self.wrong(18.9, 30)))
        self.assertEqual(2, self.checked.checked)
