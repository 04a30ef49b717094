"""Retry of idempotent calls to Ironic while it is unavailable."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ironic_ownership.contracts import exceptions

T = TypeVar('T')

PAUSES = (0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts; after the last pause the error is raised."""


class Retry:
    """Retries idempotent calls.

    :param pauses: seconds between attempts.
    :param sleep: waits for so many seconds.
    """

    def __init__(
        self,
        pauses: tuple[float, ...] = PAUSES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pauses = pauses
        self.sleep = sleep

    def call(self, request: Callable[[], T]) -> T:
        """Return the first answer.

        :raises IronicUnavailableError: if there is none in time.
        """
        for pause in self._pauses:
            try:
                return request()
            except exceptions.IronicUnavailableError:
                self.sleep(pause)
        return request()
