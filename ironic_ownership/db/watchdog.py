"""Watchdog: end calls on PostgreSQL connections that get no answer.

libpq waits for an answer without a bound. The kernel of a frozen server
acknowledges what was sent, so time-outs of TCP do not end it, and those of
the server do not run. So a thread shuts the socket of the connection down,
which ends the call immediately. It is bound to the connection, unlike the
wait callback of psycopg2, which is one for all libraries of a process.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import psycopg2
from psycopg2 import extensions

P = ParamSpec('P')
T = TypeVar('T')


class Watchdog:
    """Runs a function for each call that takes too long, in one thread."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all calls and the thread, which a fork does not copy."""
        self._changed = threading.Condition()
        self._calls: dict[object, tuple[float, Callable[[], object]]] = {}
        self._thread: threading.Thread | None = None
        self._wakes_at = -math.inf

    @contextlib.contextmanager
    def within(
        self, seconds: float, expired: Callable[[], object]
    ) -> Iterator[None]:
        """Watch a call.

        :param expired: called if the block takes longer, from another
            thread; never after the block has ended. Must not block.
        """
        call, deadline = object(), time.monotonic() + seconds
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run,
                    name='ironic-ownership-watchdog',
                    daemon=True,
                )
                thread.start()
                self._thread = thread
            self._calls[call] = deadline, expired
            # Most calls are due after the thread wakes up in any case.
            if deadline < self._wakes_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._calls.pop(call, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for call, (deadline, expired) in list(self._calls.items()):
                    if deadline <= now:
                        del self._calls[call]
                        expired()
                self._wakes_at = min(
                    (deadline for deadline, _ in self._calls.values()),
                    default=math.inf,
                )
                self._changed.wait(
                    None
                    if self._wakes_at == math.inf
                    else self._wakes_at - now
                )


_watchdog = Watchdog()
os.register_at_fork(after_in_child=_watchdog.reset)


class _Cursor(extensions.cursor):  # type: ignore[misc]  # is untyped
    def execute(self, *args: Any, **kwargs: Any) -> None:
        self.connection.bounded(super().execute)(*args, **kwargs)

    def executemany(self, *args: Any, **kwargs: Any) -> None:
        self.connection.bounded(super().executemany)(*args, **kwargs)


class Connection(extensions.connection):  # type: ignore[misc]  # is untyped
    """A connection on which each call takes at most ``longest`` seconds."""

    def __init__(self, *args: Any, longest: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = _Cursor
        self._longest = longest
        # libpq may close its own descriptor at any time, and another thread
        # may get the same number.
        self._socket = socket.socket(fileno=os.dup(self.fileno()))

    def bounded(self, call: Callable[P, T]) -> Callable[P, T]:
        """Return the call with a bound.

        It raises ``psycopg2.OperationalError`` instead of taking longer, and
        the connection is of no more use.
        """

        @functools.wraps(call)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            ended: list[bool] = []

            def end() -> None:
                ended.append(True)
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

            try:
                with _watchdog.within(self._longest, end):
                    return call(*args, **kwargs)
            except psycopg2.Error as exc:
                if not ended:
                    raise
                raise psycopg2.OperationalError(
                    f'no answer within {self._longest:g} s'
                ) from exc

        return run

    def commit(self) -> None:
        """Commit the transaction."""
        self.bounded(super().commit)()

    def rollback(self) -> None:
        """Roll the transaction back."""
        self.bounded(super().rollback)()

    def close(self) -> None:
        """Close the connection. Idempotent."""
        super().close()
        self._socket.close()
