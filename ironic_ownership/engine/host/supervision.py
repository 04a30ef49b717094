"""Supervision of the threads of a host: none of them ends unnoticed.

A loop that ends before it is stopped, by any error at all, is reported and
started again, after a pause that grows.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership.fence import Clock, monotonic

LOOP_ENDED = 'loop_ended'
"""Code of the condition of a loop whose thread has ended."""

LONGEST_PAUSE = 60.0
"""Seconds between two starts of a loop that keeps ending."""


@dataclasses.dataclass(eq=False)
class Supervised:
    """One thread that runs a loop.

    :ivar started_at: when the loop was last started, on the clock.
    """

    loop: str
    thread: threading.Thread
    started_at: float


class Supervisor:
    """Starts the loops of one host, and again when they end.

    Threading: any thread.

    :param is_stopping: set when the loops are meant to end.
    """

    def __init__(
        self,
        found: conditions.Conditions,
        is_stopping: threading.Event,
        clock: Clock = monotonic,
    ) -> None:
        self._conditions = found
        self._is_stopping = is_stopping
        self._clock = clock
        self._lock = threading.Lock()
        self._supervised: dict[str, Supervised] = {}

    def start(self, loop: str, target: Callable[[], None]) -> threading.Thread:
        """Run a loop in a thread of its own."""
        thread = threading.Thread(
            target=self._run, args=(loop, target), name=loop, daemon=True
        )
        # A loop that is not yet started would be a dead one to readers.
        with self._lock:
            thread.start()
            self._supervised[loop] = Supervised(loop, thread, self._clock())
        return thread

    @property
    def dead(self) -> frozenset[str]:
        """The loops whose thread has ended, although it should run."""
        if self._is_stopping.is_set():
            return frozenset()
        return frozenset(
            one.loop for one in self._all() if not one.thread.is_alive()
        )

    def running_for(self, seconds: float) -> list[str]:
        """Return the loops that run without an end for so long."""
        now = self._clock()
        return [
            one.loop
            for one in self._all()
            if one.thread.is_alive() and now - one.started_at >= seconds
        ]

    def _all(self) -> list[Supervised]:
        with self._lock:
            return list(self._supervised.values())

    def _run(self, loop: str, target: Callable[[], None]) -> None:
        pause = 1.0
        while True:
            error: BaseException | None = None
            try:
                target()
            # The very errors that end a thread: SystemExit out of a plugin.
            except BaseException as exc:  # noqa: BLE001
                error = exc
            if self._is_stopping.is_set():
                return
            self._report(loop, error)
            # A time in the future: it does not run yet.
            with self._lock:
                self._supervised[loop].started_at = self._clock() + pause
            if self._is_stopping.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)

    def _report(self, loop: str, error: BaseException | None) -> None:
        condition = conditions.ended(loop)
        failed = f'the {loop} loop ended, and is started again'
        if error is None:
            self._conditions.report(condition, failed, code=LOOP_ENDED)
        else:
            self._conditions.unexpected(
                condition, failed, error, code=LOOP_ENDED
            )
