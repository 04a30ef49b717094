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
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.conditions import Conditions
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
    prefixes = ('', _FAULT, _LOST, _SKEW)
    parts = zip(prefixes, status, strict=True)
    return '; '.join(f'{name}{one}' for name, one in parts if one) or None


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

    :ivar parts: explain why the service does not act as configured. A loss of
        commits stays until an operator has confirmed it.
    """

    context: ServiceContext

    def __post_init__(self) -> None:
        self.parts = Parts()
        self._lock = threading.Lock()
        self._stored: tuple[int, str, str | None] | None = None

    def change(self, **parts: str | None) -> None:
        """Replace some parts."""
        with self._lock:
            self.parts = self.parts._replace(**parts)

    def store(self, view: model.View) -> None:
        """Store the status, unless it is stored already.

        :raises OwnershipError: if it cannot be stored.
        """
        with self._lock:
            status = (
                self.context.fence.epoch(),
                view.checksum,
                text_of(self.parts),
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
        self.status.change(plugin_fault=fault)
        try:
            self.status.store(view)
        except exceptions.OwnershipError as exc:
            LOG.debug('status of the policies not stored: %s', exc)


class LostCommits:
    """Detector of services whose rows are older than they were.

    The standby of an asynchronous replication may be promoted without the
    last commits of its primary, and a restored backup lacks all that came
    later. Each transaction raises the revision of every service from which it
    decides, so a process that remembers the greatest ones sees when one has
    become smaller.

    Threading: the refresh thread only.
    """

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def observe(self, services: Mapping[str, model.Service]) -> dict[str, int]:
        """Return how many changes were lost, by service; empty if none.

        A service whose row is missing was deleted, or lost as well. Its next
        row begins with a greater revision.
        """
        revisions = {host: row.revision for host, row in services.items()}
        lost = {
            host: self._newest[host] - revision
            for host, revision in revisions.items()
            if revision < self._newest.get(host, 0)
        }
        self._newest = revisions
        return lost


_CONDITION = 'clock skew'

_STEADY = 2.0
"""Seconds by which a lead may change without another report."""


class ClockSkew:
    """Detector of servers of the store that are ahead of the own one.

    Each service reads the members through its own server. Heartbeats from the
    future of that server were accepted by one whose clock is ahead. So of two
    servers that services use, one always shows the difference.

    Threading: the refresh thread only.

    :param tolerated: seconds that are not reported.
    """

    def __init__(
        self, host: str, tolerated: float, conditions: Conditions
    ) -> None:
        self._host = host
        self._tolerated = tolerated
        self._conditions = conditions
        self._reported: dict[str, float] = {}

    def observe(self, view: model.View) -> str | None:
        """Return the servers that are ahead, for ``check``; log a change."""
        self._reported = {
            host: self._steady(host, lead)
            for host, lead in sorted(view.ahead.items())
            if lead > self._tolerated
        }
        if not self._reported:
            self._conditions.clear(
                _CONDITION, 'the clocks of the database servers agree again'
            )
            return None
        text = ', '.join(
            f'that of {host} is {lead:.1f} s ahead of that of {self._host}'
            for host, lead in self._reported.items()
        )
        self._conditions.report(
            _CONDITION,
            f'the clocks of the database servers differ: {text}; tolerated '
            f'are {self._tolerated:g} s',
        )
        return text

    def _steady(self, host: str, lead: float) -> float:
        """Return the lead as reported before, unless it really changed.

        Each measurement differs a little; no operator wants a warning and
        no database a write for that.
        """
        before = self._reported.get(host, lead)
        return before if abs(lead - before) < _STEADY else lead
