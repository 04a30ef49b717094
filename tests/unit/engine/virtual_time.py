"""Workers that step in virtual time, in the thread of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.worker import Scheduler, Worker
from ironic_ownership_plugin_kit.fakes import FakeClock as Clock


class VirtualTime(Scheduler):
    """Lets time pass from one due step to the next.

    :ivar slept: the seconds until each step, by its worker.
    """

    def __init__(
        self, conditions: Conditions, clock: Clock, lasts: float = 0.0
    ) -> None:
        super().__init__(conditions, clock)
        self.now, self.lasts = clock, lasts
        self.workers: dict[str, Worker] = {}
        self.due: dict[str, float | None] = {}

    def start(self, name: str, worker: Worker) -> None:
        self.workers[name] = worker
        self._plan(name, worker.first_due)

    def start_once(
        self, name: str, work: Callable[[], None]
    ) -> threading.Thread:
        thread = super().start_once(name, work)
        thread.join()
        return thread

    def serve(self, worker: Worker) -> None:
        """Let all workers step until the end of the test's time."""
        self.start('', worker)
        self.advance(self.lasts)
        worker.finish()

    def join(self, name: str, timeout: float | None = None) -> None:
        if name in self.workers:
            self.workers.pop(name).finish()

    def advance(self, seconds: float) -> None:
        """Let time pass, with all that is due meanwhile."""
        until = self.now() + seconds
        while (name := self._next(until)) is not None:
            worker = self.workers[name]
            if not worker._wanted.is_set():
                self.now.now = max(self.now(), self.due[name])
            self._plan(name, worker.run_step())
        self.now.now = max(self.now(), until)

    def _plan(self, name: str, due_in: float | None) -> None:
        self.due[name] = None if due_in is None else self.now() + due_in

    def _next(self, until: float) -> str | None:
        due = {
            name: self.now() if worker._wanted.is_set() else self.due[name]
            for name, worker in self.workers.items()
            if not worker._stopping.is_set()
        }
        found = [(at, n) for n, at in due.items() if at is not None]
        at, name = min(found, default=(until + 1, None))
        return name if at <= until else None
