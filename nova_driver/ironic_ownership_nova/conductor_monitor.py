"""Connection to nova-conductor, without which nova-compute can do nothing.

A service that is cut off from the message bus, and not from the database of
the records, would keep its nodes and serve no request for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from oslo_log import log

LOG = log.getLogger(__name__)


class ConductorMonitor:
    """Resigns after failures in a row, and returns after the next success.

    :param ping: raises an error if nova-conductor does not answer.
    :param resign: called once the limit is reached.
    :param rejoin: called when it answers again.
    :param interval: seconds between two requests.
    :param limit: number of failures; 0 for none.
    """

    def __init__(
        self,
        ping: Callable[[], None],
        resign: Callable[[], None],
        rejoin: Callable[[], None],
        interval: float,
        limit: int,
    ) -> None:
        self._ping = ping
        self._resign = resign
        self._rejoin = rejoin
        self._interval = interval
        self._limit = limit
        self._stopping = threading.Event()
        self.failures = 0
        self.has_resigned = False

    def start(self) -> None:
        """Begin to watch, in a thread; does nothing without a limit."""
        if self._limit:
            threading.Thread(
                target=self._run, name='conductor-monitor', daemon=True
            ).start()

    def stop(self) -> None:
        """Make the thread end soon."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            self.check()

    def check(self) -> None:
        """Send one request, and act on its result."""
        try:
            self._ping()
        except Exception as exc:  # noqa: BLE001 - any error means no answer
            self._failed(exc)
            return
        self.failures = 0
        if self.has_resigned and not self._stopping.is_set():
            LOG.info('nova-conductor answers again')
            try:
                self._rejoin()
            except Exception:
                LOG.exception('this service does not get its nodes back yet')
                return
            self.has_resigned = False

    def _failed(self, exc: Exception) -> None:
        self.failures += 1
        LOG.warning(
            'nova-conductor does not answer (%d of %d): %s',
            self.failures,
            self._limit,
            exc,
        )
        if self.failures >= self._limit and not self.has_resigned:
            LOG.error(
                'this service gives up its nodes until nova-conductor answers '
                'again'
            )
            self.has_resigned = True
            self._resign()
