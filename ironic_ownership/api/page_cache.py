"""Lists that are kept for a while, for those who walk over their pages.

A list of all nodes costs the same whether one page of it is asked for or
every one. The first page is always read anew; only those that follow it are
taken from here. A process that does not have it reads it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

KEPT = 4
"""So many lists at most: one of 100,000 nodes takes some 100 MB."""


class PageCache:
    """A few lists, each for some seconds.

    :param lifetime: seconds.
    :param clock: monotonic.
    """

    def __init__(
        self, lifetime: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[Hashable, tuple[float, Any]] = {}

    def get(self, key: Hashable) -> Any | None:
        """Return what is kept under a key, if it is young enough."""
        with self._lock:
            self._forget()
            found = self._kept.get(key)
        return found[1] if found else None

    def put(self, key: Hashable, value: Any) -> None:
        """Keep something, and let go of the oldest if there are many."""
        with self._lock:
            self._forget()
            self._kept.pop(key, None)
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            if self._lifetime > 0:
                self._kept[key] = self._clock() + self._lifetime, value

    def _forget(self) -> None:
        now = self._clock()
        for key in [k for k, (end, _) in self._kept.items() if end <= now]:
            del self._kept[key]
