"""Pending calls to servers: what a process waits for, and since when.

A call that does not return can report nothing itself, so another thread reads
here which one it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class PendingCalls:
    """The calls that have not returned yet.

    Threading: any thread.

    :param clock: in seconds; only runs forward.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: dict[object, tuple[str, float]] = {}

    @contextlib.contextmanager
    def to(self, server: str) -> Iterator[None]:
        """Note a call for the time of a block.

        :param server: its name, for people.
        """
        call = object()
        self._began[call] = server, self._clock()
        try:
            yield
        finally:
            del self._began[call]

    def durations(self) -> dict[str, float]:
        """Return the seconds for which each server has not answered."""
        now = self._clock()
        found: dict[str, float] = {}
        for server, began in self._began.copy().values():
            found[server] = max(now - began, found.get(server, 0.0))
        return found


pending = PendingCalls()
"""The calls of this process."""
