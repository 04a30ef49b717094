"""Use of the processors by a run, by kind of process."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Mapping

from benchmarks import processor_time

_PAUSE = 10.0
"""Seconds between two samples. What a server used since the last one before
its SIGKILL is not seen."""


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
            **{
                n: round(t / processor_time.TICKS, 1)
                for n, t in found.most_common()
            },
        }

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            self._sample()

    def _sample(self) -> None:
        for child, ticks in processor_time.totals(
            os.getpid(), processor_time.stats()
        ):
            name = self._names.get(child.pid) or child.name.partition(':')[0]
            self._used[child.pid, child.started] = name, ticks
