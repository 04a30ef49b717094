"""Count the steps of a program that other processes can see, and stop at one.

A step is the moment before a commit, and before and after a request to Ironic
or Placement: what is within a transaction no other process sees. What happens
at the chosen step is up to the test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_ownership.clients import transport


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Steps:
    """The steps of this process; they begin to count with :meth:`install`.

    :param last: number of the step, from 1, at which ``stop`` is called; and
        at each one after it.
    :param first: text in the first request that counts; all steps count if
        it is empty.
    :ivar taken: steps so far.
    """

    def __init__(
        self, last: int, stop: Callable[[], None], first: str = ''
    ) -> None:
        self._last = last
        self._stop = stop
        self._first = first
        self.taken = 0

    def step(self, *_: Any) -> None:
        if self._first:
            return
        self.taken += 1
        if self.taken >= self._last:
            self._stop()

    def count_commits(self) -> None:
        sa.event.listen(sa.Engine, 'commit', self.step)

    def count_requests(self) -> None:
        send = transport.Service.send

        def counted(*args: Any, **how: Any) -> Any:
            if self._first in str(args):
                self._first = ''
            self.step()
            answer = send(*args, **how)
            self.step()
            return answer

        transport.Service.send = counted  # type: ignore
