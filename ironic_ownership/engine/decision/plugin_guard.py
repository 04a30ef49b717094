"""Guard of plugin calls: name the plugin that fails, or that is slow.

Cannot interrupt a call. One that does not return is reported, and after
:data:`LONGEST` seconds the caller goes on without it: until it returns, every
call of that policy is a fault.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, policy, texts
from ironic_ownership.contracts.calls import (
    Call,
    Interruption,
    exit_refused,
    is_interrupt,
)

T = TypeVar('T')

LONGEST = 60.0
"""Seconds that a policy may take for one evaluation of all nodes."""

_POLL = 0.5

Origin = Callable[[type[policy.Policy]], str]
"""Returns name and distribution of a policy; empty if unknown."""

_HINT = 'Repair that policy, or take it out of [ownership] policies'


def unknown_origin(target: type[policy.Policy]) -> str:
    """Return an empty origin."""
    return ''


Calling = tuple[policy.Policy, str, Origin]
"""A policy, its method that is called, and what names its origin."""


class _Abandoned(Interruption):
    """The caller no longer waits for the work of this thread."""


@dataclasses.dataclass
class Watch:
    """The plugin call in progress in one thread.

    :ivar inner: the watch of the thread that works for this one.
    :ivar since: when the call in progress began, on the monotonic clock.
    :ivar spent: seconds of ended calls, by the class of the policy.
    """

    calling: Calling | None = None
    inner: Watch | None = None
    since: float = 0.0
    spent: dict[type, float] = dataclasses.field(default_factory=dict)
    abandoned: bool = False

    def begin(self, calling: Calling) -> None:
        """Note a call."""
        self.since = time.monotonic()
        self.calling = calling

    def end(self) -> None:
        """Note the end of the call."""
        if self.calling is not None:
            target = type(self.calling[0])
            took = time.monotonic() - self.since
            self.spent[target] = self.spent.get(target, 0.0) + took
        self.calling = None

    def overdue(self) -> Calling | None:
        """Return the call in progress if its policy takes too long."""
        calling = self.calling
        if calling is None:
            return None
        took = self.spent.get(type(calling[0]), 0.0)
        took += time.monotonic() - self.since
        return calling if took > LONGEST else None

    def words(self) -> str:
        """Return the call in progress, in words."""
        if self.inner is not None:
            return self.inner.words()
        calling = self.calling
        return named(calling) if calling else 'between two policies'


_WATCH: contextvars.ContextVar[Watch | None] = contextvars.ContextVar(
    'watch of the plugin calls in this thread', default=None
)


@contextlib.contextmanager
def watched(
    slow_after: float, on_slow: Callable[[str], None]
) -> Iterator[threading.Event]:
    """Report once if the code in this context is slow.

    :param slow_after: seconds.
    :param on_slow: called in another thread with the call in progress; must
        not raise.
    :yields: an event that is set when the code is slow.
    """
    watch, slow = Watch(), threading.Event()

    def report() -> None:
        slow.set()
        on_slow(watch.words())

    timer = threading.Timer(slow_after, report)
    timer.daemon = True
    timer.start()
    token = _WATCH.set(watch)
    try:
        yield slow
    finally:
        _WATCH.reset(token)
        timer.cancel()


_stuck: dict[type, Call[Any]] = {}
"""Policies that did not answer in time, until their threads end."""


def bounded(work: Callable[[], T], *, foreign: bool) -> T:
    """Return the result of work that calls policies, with a bound.

    A policy that takes longer than :data:`LONGEST` fails from then on, and
    the work is done again: its fault is that of any policy.

    :param work: pure, so it can be repeated.
    :param foreign: whether one of them is of another package.
    """
    # Policies of this package need no bound, and no thread.
    if not foreign:
        return work()
    outer = _WATCH.get() or Watch()
    while True:
        watch = outer.inner = Watch()
        token = _WATCH.set(watch)
        try:
            call = Call(work, 'policies')
        finally:
            _WATCH.reset(token)
        try:
            # The usual case without delay; then look who is overdue.
            while not call.ended(_POLL):
                calling = watch.overdue()
                if calling is not None:
                    watch.abandoned = True
                    _stuck[type(calling[0])] = call
                    break
            else:
                return call.result()
        finally:
            outer.inner = None


def _check_answers(calling: Calling) -> None:
    target = type(calling[0])
    stuck = _stuck.get(target)
    if stuck is None:
        return
    if stuck.ended(0):
        _stuck.pop(target, None)
        return
    raise fault(calling, f'has not answered within {LONGEST:g} s')


@contextlib.contextmanager
def faults_of(
    plugin: policy.Policy, method: str, origin: Origin = unknown_origin
) -> Iterator[None]:
    """Name the plugin that raises in this context.

    :raises PluginFaultError: instead of any error of the plugin.
    """
    calling, watch = (plugin, method, origin), _WATCH.get()
    _check_answers(calling)
    if watch is not None:
        watch.begin(calling)
    try:
        with exit_refused():
            yield
    except exceptions.PluginFaultError:
        raise
    # An exit, too: it would end the thread or the process of the caller.
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        raise fault(calling, f'failed: {texts.described(exc)}') from exc
    finally:
        if watch is not None:
            watch.end()
            # The caller went on without this thread, whose work is of no use.
            if watch.abandoned:
                raise _Abandoned


def fault(calling: Calling, what: str) -> exceptions.PluginFaultError:
    """Return the error for a plugin that breaks its contract.

    :param what: follows plugin and method in the message.
    """
    return exceptions.PluginFaultError(f'{named(calling)} {what}', hint=_HINT)


def named(calling: Calling) -> str:
    """Return a plugin's method and origin, in words."""
    plugin, method, origin = calling
    call = f'{type(plugin).__name__}.{method}'
    known = origin(type(plugin))
    return f'{known}: {call}' if known else call
