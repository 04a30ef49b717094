"""The nemesis finds writes of processes whose right had lapsed."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

from benchmarks.nemesis import lapses
from benchmarks.nemesis.journal import Journal
from benchmarks.nemesis.observer import Event

TTL = 8.0


def event(number: int, at: float, kind: str = 'owner_changed') -> Event:
    return Event(number, at, 'ha', kind, 'n', None, 'ha', None, None, 'ha_1')


def registration(number: int, at: float) -> Event:
    return event(number, at, 'service_registered')


class TestLapses(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.journal = Journal(pathlib.Path(directory.name, 'faults.log'))
        entry = self.journal.begin('freeze', 'ha')
        entry.begin, entry.end = 100.0, 120.0

    def found(self, *events: Event, earlier: tuple[Event, ...] = ()) -> int:
        return len(
            list(lapses.unlawful(events, self.journal, TTL, earlier=earlier))
        )

    def test_write_after_a_long_freeze_is_unlawful(self) -> None:
        self.assertEqual(1, self.found(event(1, 121), registration(2, 122)))

    def test_write_after_a_registration_is_lawful(self) -> None:
        self.assertEqual(0, self.found(registration(1, 121), event(2, 122)))

    def test_registration_in_the_round_before_counts(self) -> None:
        earlier = registration(1, 121)
        self.assertEqual(1, self.found(event(2, 125)))
        self.assertEqual(0, self.found(event(2, 125), earlier=(earlier,)))
