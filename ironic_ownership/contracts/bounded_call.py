"""Bounded calls of third-party code: the caller waits, and then goes on.

Python cannot end a call, so one that does not return keeps its thread. The
thread is a daemon, and its late result serves the next caller.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar('T')


class UnfinishedError(Exception):
    """The call still runs."""


class InterruptedCallError(Exception):
    """The call raised ``KeyboardInterrupt`` itself."""


class Call(Generic[T]):
    """One call in a thread of its own, with the caller's context.

    :param work: any exception of it is raised again by :meth:`result`.
    """

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._value: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._run,),
            name=name,
            daemon=True,
        )
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised by result()
            self._error = exc

    def ended(self, seconds: float) -> bool:
        """Wait for the end of the call, at most some seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """Return what the ended call returned, or raise its error.

        :raises InterruptedCallError: instead of a ``KeyboardInterrupt``: no
            operator interrupts that thread.
        """
        if isinstance(self._error, KeyboardInterrupt):
            raise InterruptedCallError('KeyboardInterrupt') from self._error
        if self._error is not None:
            raise self._error
        return self._value[0]


class BoundedCalls(Generic[T]):
    """Bounded calls, at most one at a time for each key.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, Call[T]] = {}
        self._lock = threading.Lock()

    def result(
        self, key: Hashable, work: Callable[[], T], seconds: float
    ) -> T:
        """Return the result of the work, or of an earlier call that ended.

        :param key: a call that did not end in time is not made again before
            it ends, and then only its result is returned.
        :raises UnfinishedError: if it does not end in time; at once if it
            did not before.
        """
        with self._lock:
            call = self._running.get(key)
            is_new = call is None
            if call is None:
                call = self._running[key] = Call(work, f'call of {key!r}')
        if not call.ended(seconds if is_new else 0.0):
            raise UnfinishedError
        with self._lock:
            if self._running.get(key) is call:
                del self._running[key]
        return call.result()
