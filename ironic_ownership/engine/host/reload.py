"""Reload of the configuration in a running host, which stays a member.

Decisions follow what the members advertise, so a change takes effect for
every service, this one included, when it is advertised. The service lists the
new scope only after that.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host import credential_probe
from ironic_ownership.engine.host.action_guard import Guard
from ironic_ownership.engine.host.refresh_loop import RefreshLoop
from ironic_ownership.engine.host.tuning import Intervals, Tuning

LOG = log.getLogger(__name__)

_Pending = tuple[Tuning | str, bool] | None
"""A configuration, or why it is refused; and whether only sources differ."""


@dataclasses.dataclass(eq=False)
class Reload:
    """Changes one host's configuration, or keeps the old one.

    Of several requests only the last one counts, applied or refused.

    Threading: :meth:`request` and :meth:`refuse` from any thread; the change
    itself happens in the refresh thread, between two refreshes.

    :param current: the configuration in use.
    :ivar change_intervals: changes those of all loops.
    """

    refresh_loop: RefreshLoop
    guard: Guard
    current: Tuning

    def __post_init__(self) -> None:
        self.change_intervals: Callable[[Intervals], None]
        self.member = self.refresh_loop.member
        self.refresher = self.refresh_loop.refresher
        self._lock = threading.Lock()
        self._pending: _Pending = None
        self.refresh_loop.before_refresh = self._process

    def begin(self, wanted: Tuning) -> None:
        """Use a configuration from the start; before the threads start.

        :raises IronicTooOldError: if this Ironic is too old.
        """
        self._check(wanted)
        self.member.change_settings(wanted.advertised)
        self._use_policies(wanted)

    def request(self, wanted: Tuning) -> None:
        """Apply a valid configuration before the next refresh."""
        self._set_pending(self._with_current_snapshots(wanted))

    def follow(self, wanted: Tuning, instead_of: Tuning) -> bool:
        """Apply a configuration with other snapshots of its sources.

        :param instead_of: the configuration that had the earlier ones.
        :returns: ``False`` while another change is pending, or if that is not
            the current configuration any more.
        """
        with self._lock:
            if self._pending is not None or self.current is not instead_of:
                return False
            self._pending = wanted, True
        self.refresh_loop.wake()
        return True

    def refuse(self, error: str) -> None:
        """Keep the old configuration, and log and store the reason.

        An earlier change that is not complete yet is reverted.
        """
        self._set_pending(_refused(error))

    def _set_pending(self, wanted: Tuning | str) -> None:
        with self._lock:
            self._pending = wanted, False
        self.refresh_loop.wake()

    def _process(self) -> None:
        with self._lock:
            pending = self._pending
        if pending is None:
            return
        wanted, follows = pending
        if isinstance(wanted, Tuning):
            wanted = self._checked(wanted, follows)
            pending = self._replace(pending, (wanted, follows))
        if isinstance(wanted, str):
            self._keep_current(wanted)
        elif not self._apply(wanted, follows):
            return
        self._replace(pending, None)

    def _replace(self, pending: _Pending, by: _Pending) -> _Pending:
        """Replace what is pending, unless another request came meanwhile."""
        with self._lock:
            if self._pending is pending:
                self._pending = by
        return by

    def _checked(self, wanted: Tuning, follows: bool) -> Tuning | str:
        """Return the configuration to apply, or why it is refused."""
        # The sources may have been read since it was requested.
        if not follows and wanted.snapshots != self.current.snapshots:
            kept = self._with_current_snapshots(wanted)
            if isinstance(kept, str):
                return kept
            wanted = kept
        try:
            self._check(wanted)
        except (
            exceptions.IronicTooOldError,
            exceptions.PluginFaultError,
        ) as exc:
            return _refused(str(exc))
        return wanted

    def _with_current_snapshots(self, wanted: Tuning) -> Tuning | str:
        """Return the same configuration, or why it is refused."""
        try:
            return wanted.with_snapshots(self.current.snapshots)
        except exceptions.OwnershipError as exc:
            return _refused(str(exc))

    def _keep_current(self, error: str) -> None:
        self.member.change_settings(self.current.advertised)
        self._report(error)

    def _report(self, error: str | None) -> None:
        # An idle process stores the error when it becomes active.
        self.refresher.report_config_error(
            error, store=not self.member.is_idle
        )

    def _apply(self, wanted: Tuning, follows: bool) -> bool:
        self.member.change_settings(wanted.advertised)
        if not self.member.advertises(wanted.advertised):
            return False
        if not follows:
            credential_probe.probe(self.refresher.context, wanted.limits)
            self._report(None)
        # What follows cannot fail, so it is not repeated.
        changes = self.current.changes_to(wanted)
        self._use_policies(wanted)
        if follows:
            LOG.info('a policy has another snapshot: %s', '; '.join(changes))
            return True
        self.refresher.reconfigure(wanted)
        self.change_intervals(wanted.intervals)
        LOG.info(
            'configuration reloaded: %s',
            '; '.join(changes) or 'no option has changed',
        )
        return True

    def _check(self, wanted: Tuning) -> None:
        self.refresher.context.ports.ironic.check()
        _ = wanted.policies.scope  # a policy that fails is refused

    def _use_policies(self, wanted: Tuning) -> None:
        self.current = wanted
        self.guard.policies = wanted.policies
        self.refresher.follow(wanted.policies.scope)


def _refused(error: str) -> str:
    """Log why a configuration is refused, and return it."""
    LOG.error(
        'configuration not reloaded, the old one stays in use: %s', error
    )
    return error
