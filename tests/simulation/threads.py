"""The modules ``threading``, ``time`` and others, for simulated threads.

While a simulation runs they take the place of the real ones in every module
of the product, in its defaults too: the product needs no change for that.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import random
import secrets
import sys
import threading
import time
import types
import uuid
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import oslo_db.api
from oslo_db.sqlalchemy import engines

import ironic_ownership
from tests.simulation.loop import Loop, Task, Waiting

_now: list[Loop] = []
"""The loop that runs."""


def loop() -> Loop:
    """Return the loop that runs."""
    return _now[-1]


class Lock:
    """A lock; also reentrant."""

    reentrant = False

    def __init__(self) -> None:
        self._owner: object = None
        self._depth = 0
        self._waiting = Waiting()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        now, me = loop(), loop().current or self
        if now.is_atomic:
            return True
        if now.current is not None and not now.is_over:
            now.give_way()
        if self._owner is me and self.reentrant:
            self._depth += 1
            return True
        while self._owner is not None and not now.is_over:
            if not blocking:
                return False
            most = None if timeout < 0 else timeout
            if not self._waiting.wait(now, 'a lock', most):
                return False
        self._owner, self._depth = me, 1
        return True

    def release(self) -> None:
        if loop().is_atomic:
            return
        self._depth -= 1
        if self._depth <= 0:
            self._owner = None
            self._waiting.wake(loop())

    def locked(self) -> bool:
        return self._owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class RLock(Lock):
    reentrant = True


class Condition:
    """A condition variable with a lock of its own."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiting = Waiting()

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        self._lock.release()
        try:
            return self._waiting.wait(loop(), 'a condition', timeout)
        finally:
            self._lock.acquire()

    def wait_for(
        self, met: Callable[[], bool], timeout: float | None = None
    ) -> bool:
        until = None if timeout is None else clock() + timeout
        while not met():
            left = None if until is None else until - clock()
            if left is not None and left <= 0:
                return False
            self.wait(left)
        return True

    def notify_all(self) -> None:
        self._waiting.wake(loop())

    notify = notify_all


class Event:
    """An event."""

    def __init__(self) -> None:
        self._set = False
        self._waiting = Waiting()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._waiting.wake(loop())

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        loop().give_way()
        if not self._set and (timeout is None or timeout > 0):
            self._waiting.wait(loop(), 'an event', timeout)
        return self._set


class BoundedSemaphore:
    """A semaphore that is never waited for."""

    def __init__(self, value: int = 1) -> None:
        self._value = value

    def acquire(self, blocking: bool = True) -> bool:
        assert not blocking
        if self._value:
            self._value -= 1
            return True
        return False

    def release(self) -> None:
        self._value += 1


class Thread:
    """A thread of the process that starts it."""

    def __init__(
        self,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        name: str = '',
        daemon: bool = True,
    ) -> None:
        self.name = name
        self._work = lambda: target(*args)
        self._task: Task | None = None
        self._ended = Event()

    def start(self) -> None:
        def run() -> None:
            try:
                self._work()
            finally:
                self._ended.set()

        self._task = loop().spawn(loop().process, self.name, run)

    def join(self, timeout: float | None = None) -> None:
        self._ended.wait(timeout)

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.ended


class Timer(Thread):
    """Calls a function later, unless cancelled."""

    def __init__(self, interval: float, function: Callable[[], object]):
        self._cancelled = Event()

        def run() -> None:
            if not self._cancelled.wait(interval):
                function()

        super().__init__(run, name='timer')

    def cancel(self) -> None:
        self._cancelled.set()


class Local:
    """Attributes of each thread."""

    def _mine(self) -> dict[str, Any]:
        task = loop().current
        return {} if task is None else task.local.setdefault(id(self), {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._mine()[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._mine()[name] = value


def clock() -> float:
    """Return the monotonic clock of the process."""
    return loop().process.clock()


def wall_clock() -> float:
    """Return the wall clock of the process."""
    return loop().process.wall_clock()


def sleep(seconds: float) -> None:
    """Wait."""
    if loop().current is not None:
        loop().block('a pause', seconds)


def wait(
    those: list[futures.Future[Any]], timeout: float | None = None
) -> Any:
    """Wait for a future."""
    (one,) = those
    done = Event()
    one.add_done_callback(lambda _: done.set())
    done.wait(timeout)
    return types.SimpleNamespace(done={one} if one.done() else set())


def _uuid() -> uuid.UUID:
    return uuid.UUID(int=loop().rng.getrandbits(128), version=4)


class _Random:
    def __getattr__(self, name: str) -> Any:
        return getattr(loop().rng, name)


def _module(real: types.ModuleType, **names: Any) -> types.SimpleNamespace:
    known = {k: v for k, v in vars(real).items() if k[0] != '_'}
    return types.SimpleNamespace(**{**known, **names})


_time = _module(time, monotonic=clock, time=wall_clock, sleep=sleep)
vars(_time).pop('CLOCK_BOOTTIME', None)
_SIMULATED: dict[int, Any] = {
    id(time): _time,
    id(time.monotonic): clock,
    id(time.sleep): sleep,
    id(time.time): wall_clock,
    id(random): _Random(),
    id(secrets): types.SimpleNamespace(
        randbelow=lambda below: int(below * loop().rng.random())
    ),
    id(uuid): _module(uuid, uuid4=_uuid),
    id(futures): types.SimpleNamespace(Future=futures.Future, wait=wait),
    id(threading): _module(
        threading,
        Lock=Lock,
        RLock=RLock,
        Condition=Condition,
        Event=Event,
        BoundedSemaphore=BoundedSemaphore,
        Thread=Thread,
        Timer=Timer,
        local=Local,
        get_ident=lambda: id(loop().current),
    ),
}


_PACKAGES = ('contracts', 'db', 'backends', 'engine', 'api', 'wiring')


def install() -> None:
    """Let the product use simulated threads, in this whole process."""
    for found in pkgutil.walk_packages(
        ironic_ownership.__path__, 'ironic_ownership.'
    ):
        if (
            found.name.split('.')[1] in _PACKAGES
            and '.migrations' not in found.name
        ):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    for name, module in list(sys.modules.items()):
        if name.split('.')[0] == 'ironic_ownership':
            _replace(module)
    oslo_db.api.time = engines.time = _time
    oslo_db.api.random = _Random()


def _replace(module: types.ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if id(value) in _SIMULATED:
            setattr(module, name, _SIMULATED[id(value)])
        elif getattr(value, '__module__', '') == module.__name__:
            _replace_defaults(value)


def _replace_defaults(value: Any) -> None:
    if isinstance(value, type):
        for name, inner in list(vars(value).items()):
            if id(inner) in _SIMULATED:
                setattr(value, name, _SIMULATED[id(inner)])
            else:
                _replace_defaults(inner)
    elif isinstance(value, types.FunctionType):
        if value.__defaults__:
            value.__defaults__ = tuple(
                _SIMULATED.get(id(one), one) for one in value.__defaults__
            )
        for name, one in (value.__kwdefaults__ or {}).items():
            value.__kwdefaults__[name] = _SIMULATED.get(id(one), one)


@contextlib.contextmanager
def running(now: Loop) -> Iterator[None]:
    """Let a loop be the one that runs."""
    _now.append(now)
    try:
        yield
    finally:
        _now.pop()
