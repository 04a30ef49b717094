"""Change signal: wakes any number of threads that wait for a change."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ChangeSignal:
    """Counts changes; threads wait until there are more than they know.

    No change is missed between two calls of :meth:`wait`.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0
        self._subscribers: list[Callable[[], None]] = []

    @property
    def count(self) -> int:
        """The number of changes so far."""
        with self._condition:
            return self._count

    def subscribe(self, receive: Callable[[], None]) -> None:
        """Call a function after each change; it must not block."""
        self._subscribers.append(receive)

    def notify(self) -> None:
        """Count a change, and wake all waiting threads."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()
        for receive in self._subscribers:
            receive()

    def wait(self, seen: int, timeout: float) -> int:
        """Wait until there are more changes than were seen.

        :param seen: an earlier count.
        :param timeout: seconds to wait at most.
        :returns: the count at the end.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, timeout)
            return self._count
