"""Journal of the faults: which one, against what, from when until when."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import threading
from collections.abc import Iterator

from benchmarks.nemesis import clock

LOSS = 'commits-lost'
"""Kind of a fault by which the records go back in time."""


@dataclasses.dataclass(eq=False)
class Entry:
    """One fault, change or command.

    :ivar end: when its effect ended, on the clock of the run; ``None`` while
        it lasts.
    """

    begin: float
    kind: str
    target: str
    detail: str = ''
    end: float | None = None

    def text(self, origin: float) -> str:
        """Return one line; times are relative to ``origin``."""
        end = '...' if self.end is None else f'{self.end - origin:.2f}'
        line = f'{self.begin - origin:9.2f} to {end} {self.kind} {self.target}'
        return f'{line} {self.detail}'.rstrip()


class Journal:
    """All entries of one run, in memory and in a file.

    Threading: any thread.

    :ivar origin: beginning of the run, on its clock.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.origin = clock.now()
        self.skipped: collections.Counter[str] = collections.Counter()
        self.counts: collections.Counter[str] = collections.Counter()
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._path = path

    def begin(self, kind: str, target: str, detail: str = '') -> Entry:
        """Add an entry that lasts until :meth:`end`."""
        entry = Entry(clock.now(), kind, target, detail)
        with self._lock:
            self._entries.append(entry)
            self.counts[kind] += 1
        self._write('begin', entry)
        return entry

    def end(self, entry: Entry, detail: str = '') -> None:
        """Note that the effect of an entry has ended."""
        entry.end = clock.now()
        entry.detail = f'{entry.detail} {detail}'.strip()
        self._write('end', entry)

    def skip(self, kind: str) -> None:
        """Count a planned fault that was not possible."""
        with self._lock:
            self.skipped[kind] += 1

    def overlapping(self, begin: float, end: float) -> list[Entry]:
        """Return the entries with an effect between two times."""
        with self._lock:
            return [
                e
                for e in self._entries
                if e.begin <= end and (e.end is None or e.end >= begin)
            ]

    def forget(self, before: float) -> None:
        """Drop the entries that had ended by then; they stay counted."""
        with self._lock:
            self._entries = [
                e for e in self._entries if e.end is None or e.end >= before
            ]

    def duration(
        self, kinds: frozenset[str], target: str, begin: float, end: float
    ) -> float:
        """Return the seconds of an interval in which such a fault lasted."""
        total = 0.0
        for one in self._of(kinds, target, begin, end):
            until = end if one.end is None else one.end
            total += max(0.0, min(end, until) - max(begin, one.begin))
        return min(total, end - begin)

    def _of(
        self, kinds: frozenset[str], target: str, begin: float, end: float
    ) -> Iterator[Entry]:
        for entry in self.overlapping(begin, end):
            if entry.kind in kinds and entry.target == target:
                yield entry

    def _write(self, what: str, entry: Entry) -> None:
        line = f'{clock.now() - self.origin:9.2f} {what:5} {entry.kind} '
        with self._lock, self._path.open('a') as file:
            file.write(f'{line}{entry.target} {entry.detail}'.rstrip() + '\n')
