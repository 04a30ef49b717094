"""Short-lived cache of full lists, so that later pages need no new read.

A list of all nodes costs the same for one page and for all of them. The first
page always reads the list again; later ones take it from here. Another
process of the service, without it, reads it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

MAX_LISTS = 4
"""The maximum number of lists: one of 100,000 nodes takes some 30 MB."""


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
        self._values: dict[Hashable, tuple[float, Any]] = {}

    def get(self, key: Hashable) -> Any | None:
        """Return the value of a key, if it has not expired."""
        with self._lock:
            self._expire()
            found = self._values.get(key)
        return found[1] if found else None

    def put(self, key: Hashable, value: Any) -> None:
        """Store a value, and remove the oldest if there are too many."""
        with self._lock:
            self._expire()
            self._values.pop(key, None)
            while len(self._values) >= MAX_LISTS:
                del self._values[next(iter(self._values))]
            if self._lifetime > 0:
                self._values[key] = self._clock() + self._lifetime, value

    def _expire(self) -> None:
        now = self._clock()
        for key in [k for k, (end, _) in self._values.items() if end <= now]:
            del self._values[key]
