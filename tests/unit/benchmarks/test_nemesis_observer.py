"""The nemesis notices epochs that go back."""

from __future__ import annotations

import pathlib
import unittest

from benchmarks.nemesis.findings import Findings
from benchmarks.nemesis.observer import Observer, Service, Snapshot
from benchmarks.nemesis.records import SQLite


class TestEpochs(unittest.TestCase):
    def setUp(self) -> None:
        self.findings = Findings()
        self.observer = Observer(SQLite(pathlib.Path()), self.findings)

    def see(self, epoch: int) -> None:
        service = Service('ha', epoch, True, False, False)
        self.observer._take(Snapshot(1.0, {'ha': service}))

    def test_epoch_that_goes_back_is_found(self) -> None:
        self.see(8)
        self.see(7)
        self.assertEqual(['epochs'], [one.law for one in self.findings.all])

    def test_snapshot_before_the_end_of_a_loss_of_commits_is_none(
        self,
    ) -> None:
        self.see(8)
        with self.observer.losing_commits():
            self.see(7)
        self.see(7)
        self.assertEqual([], self.findings.all)

    def test_later_ones_are_found_again(self) -> None:
        with self.observer.losing_commits():
            self.see(7)
        self.see(8)
        self.see(7)
        self.assertEqual(['epochs'], [one.law for one in self.findings.all])
