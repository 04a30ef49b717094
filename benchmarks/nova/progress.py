"""Progress of a benchmark and the limit of its time."""

from __future__ import annotations

import time
from collections.abc import Callable

from lab import process

_PAUSE = 0.02


class LimitError(Exception):
    """The time of the benchmark is up."""


class Progress:
    """Prints what is done, and ends what takes too long.

    :param limit: seconds for everything together.
    """

    def __init__(self, limit: float) -> None:
        self._begin = time.monotonic()
        self._limit = limit

    def report(self, text: str) -> None:
        """Print one line with the time since the start."""
        passed = time.monotonic() - self._begin
        print(f'[{passed:6.1f} s] {text}', flush=True)

    def wait_for(
        self,
        ready: Callable[[], object],
        what: str,
        running: process.Process | None = None,
        pause: float = _PAUSE,
    ) -> None:
        """Wait until a probe succeeds.

        :param running: a process that must not end meanwhile.
        :param pause: seconds between two probes.
        :raises LimitError: if the time of the benchmark is up first.
        :raises LabError: if the process ends.
        """
        while not ready():
            if running is not None and running.returncode is not None:
                raise process.LabError(f'no {what}: {running.tail()}')
            if time.monotonic() - self._begin > self._limit:
                raise LimitError(f'no {what} within {self._limit:g} s')
            time.sleep(pause)
