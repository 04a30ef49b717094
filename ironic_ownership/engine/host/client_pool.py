"""Pool of Ironic clients, each lent to one thread at a time, in turn.

It bounds how many requests a program with many threads sends at once, and
with them its queries: heartbeats need the same database.
"""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.ports import BareMetal

_Turn = futures.Future[BareMetal | None]


class ClientPool:
    """Lends clients in the order of the requests.

    Threading: any thread.

    :param build: returns a new client; called for one thread at a time.
    :param size: the number of clients at most.
    """

    def __init__(self, build: Callable[[], BareMetal], size: int) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._building = threading.Lock()
        # Without a client: the right to build one.
        self._free: list[BareMetal | None] = [None] * size
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
            with self._lock:
                # One that could not be built is the last to be lent.
                at = 0 if client is None else len(self._free)
                self._free.insert(at, client)
                self._serve()

    def _take(self, timeout: float) -> BareMetal | None:
        turn = _Turn()
        with self._lock:
            self._waiting.append(turn)
            self._serve()
        if not futures.wait([turn], timeout).done:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                    raise exceptions.IronicUnavailableError(
                        f'no client of Ironic became free for {timeout:g} s',
                        hint='Too many nodes are checked at once, or Ironic '
                        'is slow',
                    )
        return turn.result()

    def _serve(self) -> None:
        """Lend what is free to those who wait, in turn."""
        while self._waiting and self._free:
            self._waiting.popleft().set_result(self._free.pop())
