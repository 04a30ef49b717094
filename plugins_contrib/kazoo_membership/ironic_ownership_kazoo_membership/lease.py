"""Ends a membership that nobody renews.

kazoo keeps a session alive from threads of its own. A process whose heartbeat
hangs would so be a member for ever, although it may not act any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Lease:
    """Runs out when it is not renewed for a while.

    Threading: any thread.

    :param seconds: from one renewal to the end.
    :param lapse: called once for each end, from this lease's own thread or
        that of :meth:`look`; may block, must not raise.
    :param now: the clock, in seconds; it must not jump.
    """

    def __init__(
        self,
        seconds: float,
        lapse: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._lapse = lapse
        self._now = now
        self._changed = threading.Condition()
        self._until: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def runs(self) -> bool:
        """Whether there is something to run out."""
        with self._changed:
            return self._until is not None

    def begin(self, since: float) -> None:
        """Run, whether it did before or not.

        :param since: by the clock.
        """
        with self._changed:
            self._until = since + self._seconds
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run,
                    name='kazoo-membership-lease',
                    daemon=True,
                )
                self._thread.start()
            self._changed.notify_all()

    def renew(self, since: float) -> bool:
        """Run longer, if it still runs.

        :param since: by the clock.
        :returns: whether it still ran: what was true at ``since`` need not
            be true after it ran out.
        """
        with self._changed:
            if self._until is None:
                return False
            self._until = since + self._seconds
            return True

    def end(self) -> None:
        """Run out no more."""
        with self._changed:
            self._until = None
            self._changed.notify_all()

    def look(self) -> None:
        """Lapse now, if the time is up."""
        with self._changed:
            if self._until is None or self._now() < self._until:
                return
            self._until = None
        self._lapse()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._until is None:
                    # Nothing to do: the next renewal makes another thread.
                    self._thread = None
                    return
                left = self._until - self._now()
                if left > 0:
                    self._changed.wait(left)
            self.look()
