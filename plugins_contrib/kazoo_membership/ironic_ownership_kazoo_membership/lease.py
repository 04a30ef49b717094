"""A local lease that ends a membership without renewals.

kazoo keeps a session alive from threads of its own. A process whose heartbeat
hangs would stay a member indefinitely, although it may not act any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Lease:
    """Expires when it is not renewed.

    Threading: any thread.

    :param seconds: from one renewal to the end.
    :param lapse: called once for each end, from this lease's own thread or
        that of :meth:`check`; may block, must not raise.
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
        """True between the begin and the end."""
        with self._changed:
            return self._until is not None

    def begin(self, since: float) -> None:
        """Start, or start again.

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
        """Extend the lease, if it has not expired.

        :param since: by the clock.
        :returns: whether it was extended: after an expiry, facts as of
            ``since`` are outdated.
        """
        with self._changed:
            if self._until is None:
                return False
            self._until = since + self._seconds
            return True

    def end(self) -> None:
        """Stop; it cannot expire any more."""
        with self._changed:
            self._until = None
            self._changed.notify_all()

    def check(self) -> None:
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
                    # The next begin starts another thread.
                    self._thread = None
                    return
                left = self._until - self._now()
                if left > 0:
                    self._changed.wait(left)
            self.check()
