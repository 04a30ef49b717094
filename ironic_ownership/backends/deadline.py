"""Time-outs for blocking calls that their driver cannot interrupt.

An abandoned call goes on in its thread, so only calls that do no harm when
they take effect late may be made this way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ironic_ownership.contracts import bounded_call

T = TypeVar('T')


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of ``work``, or raise its error.

    :raises TimeoutError: if it takes longer.
    """
    call = bounded_call.Call(work, 'ironic-ownership-bounded-call')
    if not call.ended(seconds):
        raise TimeoutError(f'no answer within {seconds:g} s')
    return call.result()


class Calls:
    """Blocking calls with a limit on those under way, abandoned ones too.

    Without it, a frozen store would leave one thread for every heartbeat.
    """

    def __init__(self, limit: int = 4) -> None:
        self._limit = limit
        self._free = threading.BoundedSemaphore(limit)

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """Return the result of ``work``, or raise its error.

        :raises TimeoutError: if it takes longer, or immediately while too
            many earlier calls have not ended.
        """
        if not self._free.acquire(blocking=False):
            raise TimeoutError(
                f'{self._limit} earlier calls are still waiting for an answer'
            )

        def run() -> T:
            try:
                return work()
            finally:
                self._free.release()

        return call_within(seconds, run)
