"""Pool of Ironic clients, each lent to one thread at a time, in turn.

It bounds how many requests a program with many threads sends at once, and
with them its queries: heartbeats need the same database.
"""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.ports import BareMetal


class ClientPool:
    """Lends clients in the order of the requests.

    Threading: any thread.

    :param build: returns a new client; called for one thread at a time.
    :param size: the number of clients at most.
    """

    def __init__(self, build: Callable[[], BareMetal], size: int) -> None:
        self._build = build
        self._left = size
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._idle: list[BareMetal] = []
        self._waiting: collections.deque[_Turn] = collections.deque()

    @contextlib.contextmanager
    def lend(self, timeout: float) -> Iterator[BareMetal]:
        """Lend a client for the time of the context.

        :param timeout: seconds to wait for a client at most.
        :raises IronicUnavailableError: if all of them are in use for longer.
        """
        client = self._take(timeout)
        try:
            if client is None:
                with self._building:
                    client = self._build()
            yield client
        finally:
            self._give_back(client)

    def _take(self, timeout: float) -> BareMetal | None:
        with self._lock:
            if not self._waiting and (self._idle or self._left):
                return self._lent()
            turn = _Turn()
            self._waiting.append(turn)
        if not turn.has_come.wait(timeout):
            with self._lock:
                if not turn.has_come.is_set():
                    self._waiting.remove(turn)
                    raise exceptions.IronicUnavailableError(
                        f'no client of Ironic became free for {timeout:g} s',
                        hint='Too many nodes are checked at once, or Ironic '
                        'is slow',
                    )
        return turn.client

    def _lent(self) -> BareMetal | None:
        """Return an idle client, or the right to build one."""
        if self._idle:
            return self._idle.pop()
        self._left -= 1
        return None

    def _give_back(self, client: BareMetal | None) -> None:
        with self._lock:
            if client is None:
                self._left += 1  # it could not be built
            else:
                self._idle.append(client)
            if self._waiting:
                turn = self._waiting.popleft()
                turn.client = self._lent()
                turn.has_come.set()


class _Turn:
    """The request of one thread."""

    def __init__(self) -> None:
        self.has_come = threading.Event()
        self.client: BareMetal | None = None
