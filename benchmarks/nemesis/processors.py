"""Use of the processors by a run, by kind of process."""

from __future__ import annotations

import collections
import os
import pathlib
import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_PAUSE = 10.0
"""Seconds between two samples. What a server used since the last one before
its SIGKILL is not seen."""

_TICKS = os.sysconf('SC_CLK_TCK')


class Stat(NamedTuple):
    """One process, from ``/proc/PID/stat``.

    :param own: clock ticks that it has used itself.
    :param ended: clock ticks of its children that it has waited for.
    """

    pid: int
    name: str
    parent: int
    own: int
    ended: int
    started: int


class Processors:
    """Samples the processes of this one, in a thread of its own.

    :param names: kinds of some children by process id; others have the name
        of their program.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._used: dict[tuple[int, int], tuple[str, int]] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, with a last sample."""
        self._stopping.set()
        self._thread.join(30)
        self._sample()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of processors that each kind has used."""
        found: collections.Counter[str] = collections.Counter()
        for name, ticks in list(self._used.values()):
            found[name] += ticks
        used = os.times()
        return {
            'nemesis': round(used.user + used.system, 1),
            **{n: round(t / _TICKS, 1) for n, t in found.most_common()},
        }

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            self._sample()

    def _sample(self) -> None:
        for child, ticks in totals(os.getpid(), _stats()):
            name = self._names.get(child.pid) or child.name.partition(':')[0]
            self._used[child.pid, child.started] = name, ticks


def totals(
    parent: int, processes: Iterable[Stat]
) -> Iterable[tuple[Stat, int]]:
    """Return each child of a process, and the ticks of its whole tree."""
    children: dict[int, list[Stat]] = collections.defaultdict(list)
    for one in processes:
        children[one.parent].append(one)

    def total(one: Stat) -> int:
        inner = sum(total(child) for child in children[one.pid])
        return one.own + one.ended + inner

    return [(child, total(child)) for child in children[parent]]


def parsed(text: str) -> Stat:
    """Return the contents of a file ``stat``."""
    head, _, tail = text.rpartition(')')
    pid, _, name = head.partition(' (')
    fields = tail.split()
    own = int(fields[11]) + int(fields[12])
    ended = int(fields[13]) + int(fields[14])
    return Stat(int(pid), name, int(fields[1]), own, ended, int(fields[19]))


def _stats() -> list[Stat]:
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            found.append(parsed(path.read_text(errors='replace')))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
    return found
