"""Conditions: problems that are logged once when they begin and end."""

from __future__ import annotations

import threading

from oslo_log import log

LOG = log.getLogger(__name__)


class Conditions:
    """The current conditions of one process.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: dict[str, str] = {}

    def report(self, condition: str, message: str) -> None:
        """Log a warning, unless it is already logged with this message."""
        with self._lock:
            if self._standing.get(condition) == message:
                return
            self._standing[condition] = message
        LOG.warning('%s', message)

    def clear(self, condition: str, message: str) -> None:
        """Log that a reported condition is over, if it was reported."""
        with self._lock:
            if self._standing.pop(condition, None) is None:
                return
        LOG.info('%s', message)

    @property
    def standing(self) -> dict[str, str]:
        """The current conditions, with their messages."""
        with self._lock:
            return dict(self._standing)
