"""Calls of third-party code and of servers: bounds, exits and interrupts.

Python cannot end a call. The caller of a bounded one waits in time and then
goes on; the call keeps its thread, a daemon. A call that does not return can
report nothing itself, so another thread reads from :data:`pending` which one
it is.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterator
from concurrent import futures
from types import FrameType
from typing import Generic, NoReturn, TypeVar

T = TypeVar('T')
Clock = Callable[[], float]
"""Returns seconds since some moment."""


def monotonic() -> float:
    """Return seconds on a clock that only runs forward.

    For leases and time-outs: no one can set it. Where the system has such a
    clock, it includes the time for which the machine was suspended: other
    members were not.
    """
    boot_time = getattr(time, 'CLOCK_BOOTTIME', None)
    if boot_time is None:
        return time.monotonic()
    return time.clock_gettime(boot_time)


def new_request_id() -> str:
    """Return an id in OpenStack's format, for all calls of one request."""
    return f'req-{uuid.uuid4()}'


class UnfinishedError(TimeoutError):
    """The call still runs."""


class InterruptedCallError(Exception):
    """The call raised ``KeyboardInterrupt`` itself."""


class Call(Generic[T]):
    """One call in a thread of its own, with the caller's context.

    :param work: any exception of it is raised again by :meth:`result`.
    """

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._outcome: futures.Future[T] = futures.Future()
        threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._run,),
            name=name,
            daemon=True,
        ).start()

    def _run(self) -> None:
        try:
            self._outcome.set_result(self._work())
        except KeyboardInterrupt as exc:
            # No operator interrupts that thread.
            error = InterruptedCallError('KeyboardInterrupt')
            error.__cause__ = exc
            self._outcome.set_exception(error)
        except BaseException as exc:  # noqa: BLE001 - raised by result()
            self._outcome.set_exception(exc)

    def ended(self, seconds: float) -> bool:
        """Wait for the end of the call, at most some seconds."""
        return bool(futures.wait([self._outcome], seconds).done)

    def result(self, seconds: float = 0.0) -> T:
        """Return what the call returned, or raise its error.

        :raises UnfinishedError: if it does not end in time.
        :raises InterruptedCallError: instead of a ``KeyboardInterrupt``.
        """
        if not self.ended(seconds):
            raise UnfinishedError(f'no answer within {seconds:g} s')
        return self._outcome.result()


class KeyedCalls(Generic[T]):
    """Bounded calls, at most one at a time for each key.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, tuple[Call[T], float]] = {}
        self._lock = threading.Lock()

    def result(
        self, key: Hashable, work: Callable[[], T], seconds: float
    ) -> T:
        """Return the result of the work, or of an earlier call.

        :param key: a call that has not ended is not made again: all callers
            wait for it, and each gets its result.
        :raises UnfinishedError: if it does not end in time; at once if it
            did not before.
        """
        now = time.monotonic()
        with self._lock:
            if key not in self._running:
                call = Call(work, f'call of {key!r}')
                self._running[key] = call, now + seconds
            call, until = self._running[key]
        if not call.ended(max(until - now, 0.0)):
            raise UnfinishedError
        with self._lock:
            if self._running.get(key) == (call, until):
                del self._running[key]
        return call.result()


class LimitedCalls:
    """Bounded calls with a limit on those under way, abandoned ones too.

    An abandoned call goes on in its thread, so only calls that do no harm when
    they take effect late may be made this way.
    """

    def __init__(self, limit: int = 4) -> None:
        self._limit = limit
        self._free = threading.BoundedSemaphore(limit)

    def within(self, seconds: float, work: Callable[[], T]) -> T:
        """Return the result of ``work``, or raise its error.

        :raises UnfinishedError: if it takes longer, or immediately while too
            many earlier calls have not ended.
        """
        # A frozen store would leave one thread for every heartbeat.
        if not self._free.acquire(blocking=False):
            raise UnfinishedError(
                f'{self._limit} earlier calls are still waiting for an answer'
            )

        def run() -> T:
            try:
                return work()
            finally:
                self._free.release()

        try:
            call = Call(run, 'ironic-ownership-limited-call')
        except RuntimeError:  # no thread can be started
            self._free.release()
            raise
        return call.result(seconds)


class PendingCalls:
    """The calls to servers that have not returned yet.

    Threading: any thread.

    :param clock: in seconds; only runs forward.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._began: dict[object, tuple[str, float]] = {}

    @contextlib.contextmanager
    def to(self, server: str) -> Iterator[None]:
        """Note a call for the time of a block.

        :param server: its name, for people.
        """
        call = object()
        self._began[call] = server, self._clock()
        try:
            yield
        finally:
            del self._began[call]

    def durations(self) -> dict[str, float]:
        """Return the seconds for which each server has not answered."""
        now = self._clock()
        found: dict[str, float] = {}
        # A copy, because other threads begin and end calls meanwhile.
        for server, began in self._began.copy().values():
            found[server] = max(now - began, found.get(server, 0.0))
        return found

    def longest(self) -> tuple[str, float] | None:
        """Return the call that takes longest, and its seconds so far.

        ``None`` if there is none.
        """
        calls = self.durations().items()
        return max(calls, key=lambda one: one[1], default=None)


pending = PendingCalls()
"""The calls of this process."""


class Interruption(BaseException):
    """Raised into third-party code by this package, to end it."""


_kept: contextvars.ContextVar[int] = contextvars.ContextVar(
    'process that the running third-party code may not end', default=0
)
_end = os._exit


def _exit(status: int) -> NoReturn:
    # A process that this code has forked may end.
    if _kept.get() == os.getpid():
        raise SystemExit(f'os._exit({status})')
    _end(status)


@contextlib.contextmanager
def exit_refused() -> Iterator[None]:
    """Make ``os._exit`` an error of the code in this context.

    Without a word, and perhaps as a success, it would end the process.
    """
    os._exit = _exit
    token = _kept.set(os.getpid())
    try:
        yield
    finally:
        _kept.reset(token)


_sent = threading.Event()


def note_interrupts() -> None:
    """Note each SIGINT: an interrupt without one is that of a plugin.

    For the main thread of a command.
    """

    def note(number: int, frame: FrameType | None) -> None:
        _sent.set()
        signal.default_int_handler(number, frame)

    if threading.current_thread() is threading.main_thread():
        _sent.clear()
        signal.signal(signal.SIGINT, note)


@contextlib.contextmanager
def interrupts_noted() -> Iterator[None]:
    """Note each SIGINT for a while, in a program that is not ours.

    Such a program keeps a handler of its own.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or (
        threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    note_interrupts()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_noted() -> bool:
    handler = signal.getsignal(signal.SIGINT)
    return getattr(handler, '__module__', None) == __name__


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an error is an interruption, not one of a plugin.

    Ours, or an operator's Ctrl-C: only the main thread gets that, and only if
    it did not block the signal.
    """
    return isinstance(error, Interruption) or (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        and (_sent.is_set() or not _is_noted())
    )
