"""Guard of plugin calls: name the plugin that fails, or that is slow.

Cannot interrupt a call: one that never returns is reported, and ends with the
process.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import threading
from collections.abc import Callable, Iterator

from ironic_ownership.contracts import exceptions, foreign_errors, policy

Origin = Callable[[type[policy.Policy]], str]
"""Returns name and distribution of a policy; empty if unknown."""

_HINT = 'Repair that policy, or take it out of [ownership] policies'


def unknown_origin(target: type[policy.Policy]) -> str:
    """Return an empty origin."""
    return ''


@dataclasses.dataclass
class Watch:
    """The plugin call in progress in one thread."""

    calling: tuple[policy.Policy, str, Origin] | None = None

    def words(self) -> str:
        """Return the call in progress, in words."""
        calling = self.calling
        return named(*calling) if calling else 'between two policies'


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


@contextlib.contextmanager
def faults_of(
    plugin: policy.Policy, method: str, origin: Origin = unknown_origin
) -> Iterator[None]:
    """Name the plugin that raises in this context.

    :raises PluginFaultError: instead of any error of the plugin.
    """
    watch = _WATCH.get()
    if watch is not None:
        watch.calling = plugin, method, origin
    try:
        yield
    except exceptions.PluginFaultError:
        raise
    # An exit, too: it would end the thread or the process of the caller.
    except BaseException as exc:
        if foreign_errors.is_interrupt(exc):
            raise
        raise fault(
            plugin, method, f'failed: {foreign_errors.described(exc)}', origin
        ) from exc
    finally:
        if watch is not None:
            watch.calling = None


def fault(
    plugin: policy.Policy,
    method: str,
    what: str,
    origin: Origin = unknown_origin,
) -> exceptions.PluginFaultError:
    """Return the error for a plugin that breaks its contract.

    :param what: follows plugin and method in the message.
    """
    return exceptions.PluginFaultError(
        f'{named(plugin, method, origin)} {what}', hint=_HINT
    )


def named(plugin: policy.Policy, method: str, origin: Origin) -> str:
    """Return a plugin's method and origin, in words."""
    call = f'{type(plugin).__name__}.{method}'
    known = origin(type(plugin))
    return f'{known}: {call}' if known else call
