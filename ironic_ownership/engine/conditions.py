"""Conditions: problems that are logged once when they begin and end."""

from __future__ import annotations

import logging
import threading

from oslo_log import log

from ironic_ownership.contracts import exceptions

LOG = log.getLogger(__name__)

_OUTAGES = (
    exceptions.RecordsUnavailableError,
    exceptions.BackendUnavailableError,
    exceptions.IronicUnavailableError,
    exceptions.PlacementUnavailableError,
)


class Conditions:
    """The current conditions of one process.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: dict[str, str] = {}
        self._causes: dict[str, str] = {}

    def report(
        self, condition: str, message: str, error: Exception | None = None
    ) -> None:
        """Log a warning, unless it is already logged with this message.

        :param error: of the message. While any condition has the same cause,
            a server that does not answer, it is no further warning.
        """
        cause = _outage(error)
        with self._lock:
            if self._standing.get(condition) == message:
                return
            self._standing[condition] = message
            known = cause is not None and cause in self._causes.values()
            self._causes.pop(condition, None)
            if cause is not None:
                self._causes[condition] = cause
        LOG.log(logging.INFO if known else logging.WARNING, '%s', message)

    def clear(self, condition: str, message: str) -> None:
        """Log that a reported condition is over, if it was reported."""
        with self._lock:
            self._causes.pop(condition, None)
            if self._standing.pop(condition, None) is None:
                return
        LOG.info('%s', message)

    @property
    def standing(self) -> dict[str, str]:
        """The current conditions, with their messages."""
        with self._lock:
            return dict(self._standing)


def _outage(error: BaseException | None) -> str | None:
    """Return the code of the outage behind an error, if it is one."""
    code = None
    while error is not None:
        if isinstance(error, _OUTAGES):
            code = error.code
        error = error.__cause__
    return code
