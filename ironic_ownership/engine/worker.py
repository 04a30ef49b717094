"""Workers: what a service does again and again, and what schedules it.

A worker waits for nothing by itself: it says when its next step is due. All
waiting, time and threads are those of the scheduler.
"""

from __future__ import annotations

import abc
import dataclasses
import threading
from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.engine.conditions import Conditions, ended

LOOP_ENDED = 'loop_ended'
"""Code of the condition of a loop whose thread has ended."""

LONGEST_PAUSE = 60.0
"""Seconds between two starts of a loop that keeps ending."""


class Worker(abc.ABC):
    """A loop: each step does what is due, and says when it is due again.

    An error of a step is the condition of the loop until a step succeeds.

    Threading: one thread for the steps; :meth:`wake` and :meth:`stop` from
    any.

    :cvar first_due: seconds until the first step; ``None`` to wait until it
        is woken.
    :cvar condition: under which an error is reported.
    :cvar fails: what an error keeps from being done, in words.
    :cvar works: what is logged when a step succeeds again.
    :ivar failures: number of steps that failed in a row.
    :ivar woken: whether the step was made due by :meth:`wake`.
    """

    first_due: float | None = 0.0
    condition = ''
    fails = ''
    works = ''
    conditions: Conditions

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self.failures = 0
        self.woken = False

    @abc.abstractmethod
    def step(self) -> float | None:
        """Do what is due.

        :returns: seconds until it is due again; ``None`` if it waits until it
            is woken.
        """

    def failed(self, error: Exception) -> float | None:
        """Report the error of a step; return when to try again.

        :raises Exception: the error of a loop without a condition: its
            scheduler starts it again.
        """
        if not self.condition:
            raise error
        if isinstance(error, exceptions.OwnershipError):
            self.conditions.report(
                self.condition, f'{self.fails}: {error}', error
            )
        else:
            self.conditions.unexpected(self.condition, self.fails, error)
        return back_off(self.failures, LONGEST_PAUSE)

    def finish(self) -> None:  # noqa: B027 - few have anything left
        """Do what is left to do after the last step."""

    def wake(self) -> None:
        """Make a step due now."""
        self._wanted.set()

    def stop(self) -> None:
        """Make :meth:`run` return soon."""
        self._stopping.set()
        self._wanted.set()

    def run(self) -> None:
        """Do what is due, until :meth:`stop` is called."""
        due_in = self.first_due
        while not self._stopping.is_set():
            self._wanted.wait(due_in)
            if not self._stopping.is_set():
                due_in = self.run_step()
        self.finish()

    def run_step(self) -> float | None:
        """Do one step, and report its error; return as :meth:`step`."""
        self.woken = self._wanted.is_set()
        # Before the step, so that a wake in the middle of it counts.
        self._wanted.clear()
        try:
            due_in = self.step()
        except Exception as exc:  # noqa: BLE001 - the loop goes on
            self.failures += 1
            return self.failed(exc)
        self.failures = 0
        if self.works:
            self.conditions.clear(self.condition, self.works)
        return due_in


def back_off(failures: int, longest: float) -> float:
    """Return the seconds to wait after so many failures in a row."""
    # Bounded, because a large exponent overflows.
    return min(longest, 2.0 ** min(failures - 1, 9))


@dataclasses.dataclass(eq=False)
class _Running:
    """A worker in its thread.

    :ivar started_at: when it was last started, on the clock.
    """

    thread: threading.Thread
    started_at: float


class Scheduler:
    """Lets the workers of one host step when they are due: each in a thread.

    None ends unnoticed: one that ends before the stop, by any error at all, is
    reported and started again, after a pause that grows.

    Threading: any thread.
    """

    def __init__(
        self, conditions: Conditions, clock: Clock = monotonic
    ) -> None:
        self.clock = clock
        self._conditions = conditions
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}

    def start(self, name: str, worker: Worker) -> None:
        """Let a worker step until it is stopped."""
        # A loop that is not yet started would be a dead one to readers.
        with self._lock:
            thread = self.start_once(
                name, lambda: self._supervise(name, worker)
            )
            self._running[name] = _Running(thread, self.clock())

    def start_once(
        self, name: str, work: Callable[[], None]
    ) -> threading.Thread:
        """Run a function that may take long; return its thread."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def serve(self, worker: Worker) -> None:
        """Let a worker step in this thread; return after its stop."""
        worker.run()

    def stop(self) -> None:
        """Expect the workers to end: they are being stopped."""
        self._stopping.set()

    def join(self, name: str, timeout: float | None = None) -> None:
        """Wait for the end of a worker, if it was started."""
        running = self._all().get(name)
        if running is not None:
            running.thread.join(timeout)

    @property
    def dead(self) -> frozenset[str]:
        """The loops whose thread has ended, although it should run."""
        if self._stopping.is_set():
            return frozenset()
        return frozenset(
            name
            for name, one in self._all().items()
            if not one.thread.is_alive()
        )

    def running_for(self, seconds: float) -> list[str]:
        """Return the loops that run without an end for so long."""
        now = self.clock()
        return [
            name
            for name, one in self._all().items()
            if one.thread.is_alive() and now - one.started_at >= seconds
        ]

    def _all(self) -> dict[str, _Running]:
        with self._lock:
            return dict(self._running)

    def _supervise(self, name: str, worker: Worker) -> None:
        ends = 0
        while True:
            error: BaseException | None = None
            try:
                worker.run()
            # The very errors that end a thread: SystemExit out of a plugin.
            except BaseException as exc:  # noqa: BLE001
                error = exc
            if self._stopping.is_set():
                return
            self._report(name, error)
            with self._lock:
                lasted = self.clock() - self._running[name].started_at
                ends = 1 if lasted > LONGEST_PAUSE else ends + 1
                pause = back_off(ends, LONGEST_PAUSE)
                # A time in the future: it does not run yet.
                self._running[name].started_at = self.clock() + pause
            if self._stopping.wait(pause):
                return

    def _report(self, loop: str, error: BaseException | None) -> None:
        condition = ended(loop)
        failed = f'the {loop} loop ended, and is started again'
        if error is None:
            self._conditions.report(condition, failed, code=LOOP_ENDED)
        else:
            self._conditions.unexpected(
                condition, failed, error, code=LOOP_ENDED
            )
