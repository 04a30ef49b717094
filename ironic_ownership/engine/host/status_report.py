"""The status that a service stores in the records, for ``check`` to find.

Besides the view of the service it explains why the service does not act by
its configuration, and what it has observed of the database: a refused
configuration, a failing policy, lost commits and clocks that differ share one
text, which :func:`parts_of` splits again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import NamedTuple

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.decision import plugin_guard
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)

SLOW = 10.0
"""Seconds that all policies together may take for one refresh: a hundred
times what 100,000 nodes take."""

_FAULT = 'plugin fault: '
_LOST = 'lost commits: '
_SKEW = 'clock skew: '


class Parts(NamedTuple):
    """The parts of the text that is stored; ``None`` if there is no such.

    :param config_error: the reason why a new configuration was refused.
    :param plugin_fault: the policy that fails, and its error.
    :param lost_commits: the services whose records became older, and when.
    :param clock_skew: hosts whose database server has another clock.
    """

    config_error: str | None = None
    plugin_fault: str | None = None
    lost_commits: str | None = None
    clock_skew: str | None = None


def text_of(status: Parts) -> str | None:
    """Return all parts in one text."""
    fault, lost = status.plugin_fault, status.lost_commits
    skew = status.clock_skew
    parts = (
        status.config_error,
        fault and f'{_FAULT}{fault}',
        lost and f'{_LOST}{lost}',
        skew and f'{_SKEW}{skew}',
    )
    return '; '.join(filter(None, parts)) or None


def parts_of(text: str | None) -> Parts:
    """Split a text into its parts."""
    rest, _, skew = (text or '').partition(_SKEW)
    rest, _, lost = rest.removesuffix('; ').partition(_LOST)
    refused, _, fault = rest.removesuffix('; ').partition(_FAULT)
    return Parts(
        refused.removesuffix('; ') or None,
        fault or None,
        lost or None,
        skew or None,
    )


@dataclasses.dataclass(eq=False)
class StatusReport:
    """Stores the status of one service when it changed.

    Threading: any thread.

    :ivar config_error: the reason why a new configuration was refused.
    :ivar plugin_fault: the policy that fails, and its error.
    :ivar lost_commits: the loss that no operator has confirmed yet.
    :ivar clock_skew: hosts whose database server has another clock.
    """

    context: ServiceContext
    config_error: str | None = None
    plugin_fault: str | None = None
    lost_commits: str | None = None
    clock_skew: str | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._stored: tuple[int, str, str | None] | None = None

    def store(self, view: model.View) -> None:
        """Store the status, unless it is stored already.

        :raises OwnershipError: if it cannot be stored.
        """
        with self._lock:
            status = (
                self.context.fence.epoch(),
                view.checksum,
                text_of(
                    Parts(
                        self.config_error,
                        self.plugin_fault,
                        self.lost_commits,
                        self.clock_skew,
                    )
                ),
            )
            if status == self._stored:
                return
            epoch, checksum, text = status
            self.context.ports.records.report(
                self.context.host,
                epoch,
                view_checksum=checksum,
                config_error=text,
            )
            self._stored = status


@dataclasses.dataclass(eq=False)
class PolicyMonitor:
    """Reports policies that fail or are slow.

    Interrupts nothing: a slow policy delays the refresh, while heartbeats
    go on and no owner changes. Fence and records are checked again when the
    refresh writes.

    Threading: the refresh thread only.

    :param slow_after: seconds after which the policies count as slow.
    """

    status: StatusReport
    slow_after: float = SLOW

    @contextlib.contextmanager
    def monitored(self, view: model.View) -> Iterator[None]:
        """Monitor the policies that are called in this context.

        :raises PluginFaultError: if a policy fails.
        """
        conditions = self.status.context.conditions

        def on_slow(call: str) -> None:
            fault = f'{call} takes longer than {self.slow_after:g} s'
            conditions.report(
                'slow policies', f'{fault}: no owner changes until it returns'
            )
            self._store(fault, view)

        try:
            with plugin_guard.watched(self.slow_after, on_slow) as slow:
                yield
        except exceptions.PluginFaultError as exc:
            self._store(str(exc), view)
            raise
        if not slow.is_set():
            conditions.clear('slow policies', 'policies return in time again')
            self._store(None, view)

    def _store(self, fault: str | None, view: model.View) -> None:
        self.status.plugin_fault = fault
        try:
            self.status.store(view)
        except exceptions.OwnershipError as exc:
            LOG.debug('status of the policies not stored: %s', exc)
