"""Guards of plugin calls: name the plugin that fails, or that is slow.

They cannot interrupt a call. A policy that does not return is reported, and
after :data:`LONGEST` seconds the caller goes on without it: until it returns,
every call of that policy is a fault.

Any error of a membership backend that is not of the contract, a wrong answer,
and even an exit are an outage of that backend: nothing is known about the
members. Nothing waits longer than :data:`GRACE` for its view or its close.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, model, policy, texts
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.calls import (
    Call,
    Interruption,
    PendingCalls,
    exit_refused,
    is_interrupt,
    pending,
)

# Not oslo.log, which no command needs to import.
LOG = logging.getLogger(__name__)

T = TypeVar('T')

LONGEST = 60.0
"""Seconds that a policy may take for one evaluation of all nodes."""

GRACE = 5.0
"""Seconds that a close may take, and a view beyond the bound of every call."""

_POLL = 0.5

Origin = Callable[[type[policy.Policy]], str]
"""Returns name and distribution of a policy; empty if unknown."""

_HINT = 'Repair that policy, or take it out of [ownership] policies'
_BACKEND_HINT = 'Repair that package, or choose another [ownership] backend'


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


class GuardedBackend(MembershipBackend):
    """A backend whose errors are all of the contract.

    Threading: as the contract of backends.

    :param backend: the one to call.
    :param origin: its name and package, for messages.
    :ivar calls: those under way, but for watches.
    """

    contract_version = model.CONTRACT_VERSION

    def __init__(
        self,
        backend: MembershipBackend,
        origin: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            backend.settings,
            member_ttl=backend.member_ttl,
            call_timeout=backend.call_timeout,
        )
        self.guarded = backend
        self.capabilities = backend.capabilities  # type: ignore[misc]
        self._origin = origin
        self.calls = PendingCalls(clock)
        self._stuck: dict[str, Call[Any]] = {}

    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        """Become a member."""
        with self._call('join'):
            self.guarded.join(host, incarnation, settings)

    def beat(self) -> None:
        """Renew the membership."""
        with self._call('beat'):
            self.guarded.beat()

    def advertise(self, settings: model.MemberSettings) -> None:
        """Replace the advertised settings."""
        with self._call('advertise'):
            self.guarded.advertise(settings)

    def leave(self) -> None:
        """Stop being a member."""
        with self._call('leave'):
            self.guarded.leave()

    def view(self) -> model.View:
        """Return the members; a wrong answer is a fault."""
        return self._bounded(
            'view', lambda: _checked(self.guarded.view()), self.call_timeout
        )

    def watch(self, timeout: float) -> bool:
        """Wait until the members may have changed."""
        # Not counted as busy: it is there to wait.
        with self._translated('watch'):
            return bool(self.guarded.watch(timeout))

    def close(self) -> None:
        """Free what the backend holds."""
        try:
            self._bounded('close', self.guarded.close, 0.0)
        except exceptions.MembershipError as exc:
            LOG.warning('the membership backend is not closed: %s', exc)

    def _bounded(
        self, method: str, work: Callable[[], T], seconds: float
    ) -> T:
        """Return the result of a call that any thread may make.

        :param seconds: that it may take besides :data:`GRACE`.
        :raises BackendFaultError: if it takes too long; at once while an
            earlier one has not ended.
        """

        def guarded() -> T:
            with self._call(method):
                return work()

        stuck, limit = self._stuck.get(method), seconds + GRACE
        # No second thread for a call that hangs, or they would pile up.
        if stuck is None or stuck.ended(0):
            call = Call(guarded, f'{self._origin}: {method}()')
            if call.ended(limit):
                return call.result()
            self._stuck[method] = call
        raise exceptions.BackendFaultError(
            f'{self._origin}: {method}() has not ended after {limit:g} s',
            hint=_BACKEND_HINT,
        )

    @contextlib.contextmanager
    def _call(self, method: str) -> Iterator[None]:
        with (
            self.calls.to(f'{self._origin}: {method}()'),
            pending.to(f'the membership, {self._origin}'),
            self._translated(method),
        ):
            yield

    @contextlib.contextmanager
    def _translated(self, method: str) -> Iterator[None]:
        try:
            with exit_refused():
                yield
        except exceptions.OwnershipError:
            raise
        # An exit would end the heartbeat for good.
        except BaseException as exc:
            if is_interrupt(exc):
                raise
            raise exceptions.BackendFaultError(
                f'{self._origin}: {method}() failed: {texts.described(exc)}',
                hint=_BACKEND_HINT,
            ) from exc


def _checked(found: object) -> model.View:
    """Return a view; refuse what is none, before it is compared with others.

    :raises TypeError: naming the first fault.
    """
    if not isinstance(found, model.View):
        raise TypeError(f'it returned a {type(found).__name__}, not a View')
    for member in (*found.members, *found.standbys):
        if not (
            isinstance(member, model.Member)
            and isinstance(member.host, str)
            and isinstance(member.incarnation, str)
            and isinstance(member.settings, model.MemberSettings)
            and _is_number(member.joined_at)
        ):
            raise TypeError(f'it returned a view with {member!r:.200}')
    if found.expires_in is not None and not _is_number(found.expires_in):
        raise TypeError(
            f'it returned a view that expires in {found.expires_in!r:.200}'
        )
    return found


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not math.isnan(value)
    )
