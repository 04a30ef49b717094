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
        self._pending: Tuning | str | None = None
        self._follows = False

    def begin(self, wanted: Tuning) -> None:
        """Use a configuration from the start; before the threads start.

        :raises IronicTooOldError: if this Ironic is too old.
        """
        self._check(wanted)
        self.member.change_settings(wanted.advertised)
        self._use_policies(wanted)

    def request(self, wanted: Tuning) -> None:
        """Apply a valid configuration before the next refresh."""
        try:
            kept = wanted.with_snapshots(self.current.snapshots)
        except exceptions.OwnershipError as exc:
            self.refuse(str(exc))
            return
        self._set_pending(kept)

    def follow(self, wanted: Tuning, instead_of: Tuning) -> bool:
        """Apply a configuration with other snapshots of its sources.

        :param instead_of: the configuration that had the earlier ones.
        :returns: ``False`` while another change is pending, or if that is not
            the current configuration any more.
        """
        with self._lock:
            if self._pending is not None or self.current is not instead_of:
                return False
            self._pending, self._follows = wanted, True
        self.refresh_loop.before_refresh(self._process)
        return True

    def refuse(self, error: str) -> None:
        """Keep the old configuration, and log and store the reason.

        An earlier change that is not complete yet is reverted.
        """
        self._log_refusal(error)
        self._set_pending(error)

    def _set_pending(self, pending: Tuning | str) -> None:
        with self._lock:
            self._pending, self._follows = pending, False
        self.refresh_loop.before_refresh(self._process)

    def _process(self) -> None:
        with self._lock:
            pending, follows = self._pending, self._follows
        if pending is None:
            return
        if isinstance(pending, Tuning) and not follows:
            pending = self._with_current_snapshots(pending)
        if isinstance(pending, str):
            self._keep_current(pending)
        elif not self._apply(pending, follows):
            return
        with self._lock:
            if self._pending is pending:
                self._pending = None

    def _with_current_snapshots(self, wanted: Tuning) -> Tuning | str:
        """Return a pending configuration, or why it is refused.

        The sources may have been read since it was requested.
        """
        if wanted.snapshots == self.current.snapshots:
            return wanted
        kept: Tuning | str
        try:
            kept = wanted.with_snapshots(self.current.snapshots)
        except exceptions.OwnershipError as exc:
            kept = str(exc)
            self._log_refusal(kept)
        with self._lock:
            if self._pending is wanted:
                self._pending = kept
        return kept

    def _keep_current(self, error: str) -> None:
        self.member.change_settings(self.current.advertised)
        self._report(error)

    def _report(self, error: str | None) -> None:
        # An idle process stores the error when it becomes active.
        self.refresher.report_config_error(
            error, store=not self.member.is_idle
        )

    def _apply(self, wanted: Tuning, follows: bool) -> bool:
        try:
            self._check(wanted)
        except (
            exceptions.IronicTooOldError,
            exceptions.PluginFaultError,
        ) as exc:
            self._refuse_pending(wanted, str(exc))
            return False
        self.member.change_settings(wanted.advertised)
        if not self.member.advertises(wanted.advertised):
            return False
        if not follows:
            context = self.refresher.context
            credential_probe.probe(
                context.ports.ironic,
                context.conditions,
                trusted=wanted.limits.trusts_credential,
            )
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

    def _refuse_pending(self, wanted: Tuning, error: str) -> None:
        with self._lock:
            if self._pending is not wanted:
                return
            self._pending = error
        self._log_refusal(error)
        self._keep_current(error)

    def _log_refusal(self, error: str) -> None:
        LOG.error(
            'configuration not reloaded, the old one stays in use: %s', error
        )
