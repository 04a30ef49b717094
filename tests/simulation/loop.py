"""Threads in virtual time: greenlets, of which one runs at a time.

Each simulated thread gives way at its locks, waits, and calls of a server;
the seed decides which one goes on. A thread belongs to a process, which has
clocks of its own, may be frozen, and dies at any step. Nothing of a dead
process runs again, not even a ``finally``, before the schedule is over.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import greenlet

_LATE = 1e-6
"""Seconds by which every wait takes longer: time goes on in any case."""

_SPINNING = 20_000
"""Steps at one moment after which nothing but a loop without a wait runs.

A step of a thread, or a wait that ends at once while no other can run.
"""


_LONGEST = 1_000
"""Steps after which a process no longer waits for a call that never comes."""


class SpinningError(AssertionError):
    """Threads run without a wait, and time stands still."""


class Process:
    """A process: its clocks, and whether it runs.

    :param rate: of its clocks, against the time of the simulation.
    :ivar ahead: seconds by which its monotonic clock is ahead.
    :ivar wall_ahead: seconds by which its wall clock is.
    :ivar frozen_until: it stands still until then.
    :ivar last_step: the last call of a server, by its name.
    """

    def __init__(
        self, loop: Loop, name: str, *, rate: float = 1.0, ahead: float = 0.0
    ) -> None:
        self.loop, self.name, self.rate, self.ahead = loop, name, rate, ahead
        self.wall_ahead = 0.0
        self.is_dead = False
        self.frozen_until = 0.0
        self.last_step = 'start'
        self.countdown = 0
        self.awaited: list[str] = []
        self._steps = 1
        self.when_counted: Callable[[], None] = int
        self.tasks: list[Task] = []

    def after_steps(self, number: int, do: Callable[[], None]) -> None:
        """Do something just before the process does another step."""
        self.countdown, self.when_counted = number, do

    def before_call(
        self, names: Sequence[str], steps: int, do: Callable[[], None]
    ) -> None:
        """Do something a few steps after it has made some calls, in order.

        :param names: with which their names begin.
        :param steps: after the last of them, at which it happens if zero.
        """
        self.awaited = list(names)
        self.after_steps(_LONGEST, do)
        self._steps = steps

    def called(self, name: str) -> None:
        """Note that it calls a server, or its port of the records."""
        self.last_step = name
        if (
            self.awaited
            and self.countdown
            and name.startswith(self.awaited[0])
        ):
            self.awaited.pop(0)
            if not self.awaited:
                self.countdown = self._steps
            if not self.countdown:
                self.when_counted()
                # It goes on no further if it is dead, or stands still.
                self.loop.give_way(_LATE)

    def clock(self) -> float:
        """Return its monotonic clock."""
        return self.ahead + self.loop.now * self.rate

    def wall_clock(self) -> float:
        """Return its wall clock."""
        since = self.clock() - self.ahead
        return self.loop.EPOCH + since + self.wall_ahead


class Task:
    """A simulated thread.

    :ivar blocked_on: what it waits for, in words; empty if it does not.
    """

    def __init__(
        self, process: Process, name: str, work: Callable[[], object]
    ) -> None:
        self.process, self.name, self._work = process, name, work
        self.greenlet = greenlet.greenlet(self._run, process.loop.hub)
        self.token = 0
        self.woken = self.ended = False
        self.blocked_on = ''
        self.local: dict[int, dict[str, Any]] = {}
        self.error: BaseException | None = None

    def _run(self) -> None:
        try:
            self._work()
        except greenlet.GreenletExit:
            pass
        except BaseException as exc:  # noqa: BLE001 - ends a thread
            self.error = exc
            if not self.process.loop.is_over:
                self.process.loop.failed(self, exc)
        self.ended = True
        self.process.tasks.remove(self)


class Waiting:
    """The threads that wait for something."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def wait(self, loop: Loop, on: str, timeout: float | None = None) -> bool:
        """Let the thread that runs wait: see :meth:`Loop.block`."""
        if loop.current is not None:
            self._tasks.append(loop.current)
        return loop.block(on, timeout)

    def wake(self, loop: Loop) -> None:
        """Let all of them go on."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            loop.wake(task)


class Loop:
    """The run loop of one schedule.

    :param seed: decides everything.
    :ivar now: seconds since the begin.
    :ivar current: the thread that runs; ``None`` outside of the simulation.
    :ivar is_atomic: whether locks are ignored, as the checker does.
    """

    EPOCH = 1_700_000_000.0

    def __init__(self, seed: object) -> None:
        self.rng = random.Random(str(seed))
        self.now = 0.0
        self.hub = greenlet.getcurrent()
        self.current: Task | None = None
        self.world = Process(self, 'world')
        self.processes = [self.world]
        self.is_over = self.is_atomic = False
        self.steps = self._at_once = 0
        self.errors: list[tuple[Task, BaseException]] = []
        self._ready: list[Task] = []
        self._timers: list[tuple[float, int, int, Task]] = []
        self._numbers = itertools.count()

    @property
    def process(self) -> Process:
        """The process that runs."""
        return self.current.process if self.current else self.world

    def spawn(
        self,
        process: Process,
        name: str,
        work: Callable[[], object],
        after: float = 0.0,
    ) -> Task:
        """Start a thread."""
        task = Task(process, name, work)
        process.tasks.append(task)
        self._due(task, after)
        return task

    def failed(self, task: Task, error: BaseException) -> None:
        """Note the error that ended a thread."""
        self.errors.append((task, error))

    def give_way(self, seconds: float = 0.0) -> None:
        """Let others run, for some time of the simulation at least."""
        task = self.current
        if task is None:
            return
        if self.is_over:
            raise greenlet.GreenletExit
        if seconds <= 0 and not self._ready:
            self._at_once += 1
            if self._at_once > _SPINNING:
                # Nothing of the thread could catch the error, and go on.
                self.hub.throw(SpinningError(task.name))
            return
        self._due(task, seconds)
        self.hub.switch()
        self._alive()

    def block(self, on: str, timeout: float | None = None) -> bool:
        """Wait until woken; return whether that happened in time.

        :param timeout: seconds on the clock of the process.
        """
        task = self.current
        if self.is_over or task is None:
            raise greenlet.GreenletExit
        task.token += 1
        task.woken, task.blocked_on = False, on
        if timeout is not None:
            seconds = max(timeout, 0.0) / task.process.rate
            self._timer(task, self.now + seconds)
        self.hub.switch()
        task.blocked_on = ''
        self._alive()
        return task.woken

    def wake(self, task: Task) -> None:
        """Let a blocked thread go on."""
        if task.blocked_on and not task.woken:
            task.woken = True
            task.token += 1
            self._ready.append(task)

    def run(self, until: float, stops: Callable[[], bool]) -> None:
        """Let time pass."""
        ready, timers, self._at_once = self._ready, self._timers, 0
        while not stops():
            while timers and timers[0][0] <= self.now:
                _, _, token, task = heapq.heappop(timers)
                if token == task.token:
                    ready.append(task)
            if ready:
                number = int(self.rng.random() * len(ready))
                ready[number], ready[-1] = ready[-1], ready[number]
                self._step(ready.pop())
                self._at_once += 1
                if self._at_once > _SPINNING:
                    raise SpinningError(ready[-1].name if ready else '')
            elif timers and timers[0][0] <= until:
                self.now, self._at_once = timers[0][0], 0
            else:
                self.now = max(self.now, until)
                return

    def kill(self, process: Process) -> None:
        """Let nothing of a process run again."""
        process.is_dead = True

    def end(self) -> None:
        """End all threads; what they do at their end has no effect."""
        self.is_over = True
        for process in self.processes:
            for task in list(process.tasks):
                self.current = task
                for _ in range(20):
                    if task.greenlet.dead or not task.greenlet:
                        break
                    task.greenlet.throw(greenlet.GreenletExit)
            process.tasks.clear()
        self.current = None

    def _step(self, task: Task) -> None:
        process = task.process
        if process.countdown and not process.is_dead:
            process.countdown -= 1
            if not process.countdown:
                process.when_counted()
        if process.is_dead or task.ended:
            return
        if process.frozen_until > self.now:
            task.token += 1
            self._timer(task, process.frozen_until)
            return
        self.steps += 1
        self.current = task
        task.greenlet.switch()
        self.current = None

    def _due(self, task: Task, seconds: float) -> None:
        task.token += 1
        if seconds > 0:
            self._timer(task, self.now + seconds)
        else:
            self._ready.append(task)

    def _timer(self, task: Task, at: float) -> None:
        number = next(self._numbers)
        heapq.heappush(self._timers, (at + _LATE, number, task.token, task))

    def _alive(self) -> None:
        if self.is_over:
            raise greenlet.GreenletExit
