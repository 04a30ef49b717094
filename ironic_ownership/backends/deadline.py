"""End a blocking call in time, even one that its driver cannot interrupt.

A server that is frozen rather than gone keeps a PostgreSQL client waiting
for ever. The abandoned call goes on in its thread; so only calls that do no
harm when they come true late may be made this way.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar('T')


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise what it raises, in time.

    :param seconds: how long to wait.
    :raises TimeoutError: when the time is up.
    """
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = (
        queue.SimpleQueue()
    )

    def run() -> None:
        try:
            answers.put((work(), None))
        except BaseException as exc:  # noqa: BLE001 - raised by the caller
            answers.put((None, exc))

    threading.Thread(
        target=run, name='ironic-ownership-bounded-call', daemon=True
    ).start()
    try:
        result, error = answers.get(timeout=seconds)
    except queue.Empty as exc:
        raise TimeoutError(f'no answer within {seconds:g} s') from exc
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # no error: it is a T


class Calls:
    """Blocking calls, of which only so many can be waiting for an answer.

    A store that stays frozen would otherwise gather one abandoned thread
    for every heartbeat that is tried.

    :param limit: how many calls may be under way, abandoned ones included.
    """

    def __init__(self, limit: int = 4) -> None:
        self._limit = limit
        self._free = threading.BoundedSemaphore(limit)

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, or raise what it raises, in time.

        :param seconds: how long to wait.
        :raises TimeoutError: when the time is up, or at once while too many
            earlier calls have not ended.
        """
        if not self._free.acquire(blocking=False):
            raise TimeoutError(
                f'{self._limit} earlier calls have not been answered yet'
            )

        def run() -> T:
            try:
                return work()
            finally:
                self._free.release()

        return call_within(seconds, run)
