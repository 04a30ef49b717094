"""Connection to nova-conductor, without which nova-compute can do nothing.

A service that is cut off from the message bus, and not from the database of
the records, would keep its nodes and serve no request for them.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from oslo_log import log

LOG = log.getLogger(__name__)


@dataclasses.dataclass
class ConductorMonitor:
    """Resigns after intervals without an answer, returns after the next one.

    :param ping: returns if nova-conductor answers; raises an error, or does
        not return, otherwise.
    :param resign: called once the limit is reached.
    :param rejoin: called when it answers again.
    :param interval: seconds between two requests, and between two counts.
    :param limit: number of intervals in a row; 0 for none.
    """

    ping: Callable[[], None]
    resign: Callable[[], None]
    rejoin: Callable[[], None]
    interval: float
    limit: int

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._answered = threading.Event()
        self.failures = 0
        self.has_resigned = False

    def start(self) -> None:
        """Begin to ask and to count; does nothing without a limit."""
        if not self.limit:
            return
        for name, work in (
            # A request to a message bus that cannot be reached waits for ever,
            # in spite of a time-out, so another thread counts.
            ('conductor-ping', self.ask),
            ('conductor-monitor', self.check),
        ):
            threading.Thread(
                target=self._repeat, args=(work,), name=name, daemon=True
            ).start()

    def stop(self) -> None:
        """Make the threads end soon."""
        self._stopping.set()

    def _repeat(self, work: Callable[[], None]) -> None:
        while not self._stopping.wait(self.interval):
            work()

    def ask(self) -> None:
        """Send one request, and note its answer."""
        try:
            self.ping()
        except Exception as exc:  # noqa: BLE001 - any error means no answer
            LOG.debug('no answer of nova-conductor: %s', exc)
        else:
            self._answered.set()

    def check(self) -> None:
        """Count one interval, and act on the result."""
        # Intervals count, and not time: a process that was frozen has asked
        # nothing meanwhile.
        if not self._answered.is_set():
            self._failed()
            return
        self._answered.clear()
        self.failures = 0
        if self.has_resigned and not self._stopping.is_set():
            LOG.info('nova-conductor answers again')
            try:
                self.rejoin()
            except Exception:
                LOG.exception('this service does not get its nodes back yet')
                return
            self.has_resigned = False

    def _failed(self) -> None:
        self.failures += 1
        # A request and the count of its answer may miss each other once.
        if self.failures > 1:
            LOG.warning(
                'nova-conductor has not answered for %g s',
                self.failures * self.interval,
            )
        if self.failures >= self.limit and not self.has_resigned:
            LOG.error(
                'this service gives up its nodes until nova-conductor answers '
                'again'
            )
            self.has_resigned = True
            self.resign()
