"""Say once that something is wrong, and once that it is right again."""

from __future__ import annotations

import threading

from oslo_log import log

LOG = log.getLogger(__name__)


class Conditions:
    """The conditions that the operator has been told of.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: dict[str, str] = {}

    def report(self, condition: str, message: str) -> None:
        """Warn, unless this condition has been reported with these words.

        :param condition: what is wrong, as a key.
        :param message: one line for the operator.
        """
        with self._lock:
            if self._standing.get(condition) == message:
                return
            self._standing[condition] = message
        LOG.warning('%s', message)

    def clear(self, condition: str, message: str) -> None:
        """Say that a reported condition is over; else say nothing."""
        with self._lock:
            if self._standing.pop(condition, None) is None:
                return
        LOG.info('%s', message)

    @property
    def standing(self) -> dict[str, str]:
        """The conditions that hold now, with what was said of them."""
        with self._lock:
            return dict(self._standing)
