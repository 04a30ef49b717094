"""Call plugins: name the one that fails, and the one that takes its time.

Knows nothing of what a plugin is asked, and stops nobody: a call that does
not return is told of, and only the end of the process ends it.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator

from ironic_ownership.contracts import exceptions, policy

Origin = Callable[[type[policy.Policy]], str]
"""Says what a policy is called and which distribution brings it; empty if
nobody knows."""

_HINT = 'Repair that policy, or take it out of [ownership] policies'


def nobody_knows(target: type[policy.Policy]) -> str:
    """Say nothing of where a policy is from."""
    return ''


class Watch:
    """What is being called in one thread at this moment.

    :ivar calling: policy, method and origin; ``None`` between two calls.
    """

    def __init__(self) -> None:
        self.calling: tuple[policy.Policy, str, Origin] | None = None

    def words(self) -> str:
        """Return what is being called, in words."""
        calling = self.calling
        return named(*calling) if calling else 'between two policies'


_WATCH: contextvars.ContextVar[Watch | None] = contextvars.ContextVar(
    'what watches the calls of this thread', default=None
)


@contextlib.contextmanager
def watched(
    patience: float, on_slow: Callable[[str], None]
) -> Iterator[threading.Event]:
    """Tell once if what is done here takes longer than it should.

    :param patience: seconds.
    :param on_slow: called in a thread of its own with what is being called
        just then; must not raise.
    :yields: an event that is set once it was too slow.
    """
    watch, slow = Watch(), threading.Event()

    def tell() -> None:
        slow.set()
        on_slow(watch.words())

    timer = threading.Timer(patience, tell)
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
    plugin: policy.Policy, method: str, origin: Origin = nobody_knows
) -> Iterator[None]:
    """Name the plugin that raises in this context.

    :raises PluginFaultError: instead of whatever the plugin raised.
    """
    watch = _WATCH.get()
    if watch is not None:
        watch.calling = plugin, method, origin
    try:
        yield
    except exceptions.PluginFaultError:
        raise
    except Exception as exc:
        raise fault(
            plugin, method, f'failed: {type(exc).__name__}: {exc}', origin
        ) from exc
    finally:
        if watch is not None:
            watch.calling = None


def fault(
    plugin: policy.Policy,
    method: str,
    what: str,
    origin: Origin = nobody_knows,
) -> exceptions.PluginFaultError:
    """Return the error for a plugin that breaks its contract.

    :param what: goes on after the plugin and its method.
    """
    return exceptions.PluginFaultError(
        f'{named(plugin, method, origin)} {what}', hint=_HINT
    )


def named(plugin: policy.Policy, method: str, origin: Origin) -> str:
    """Return a plugin's method, and where the plugin is from, in words."""
    call = f'{type(plugin).__name__}.{method}'
    known = origin(type(plugin))
    return f'{known}: {call}' if known else call
