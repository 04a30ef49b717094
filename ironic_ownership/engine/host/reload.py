"""Put a changed configuration into a running host, without leaving.

What decides is what the members advertise, so the change becomes valid for
everybody, this service included, in the moment it is advertised. Only then
does the service list the new scope.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.deletion.missing_nodes import MissingNodes
from ironic_ownership.engine.host import action_guard, process, refresh
from ironic_ownership.engine.host.tuning import Tuning
from ironic_ownership.engine.membership import local_member

LOG = log.getLogger(__name__)


def _accept(policies: policy_set.PolicySet) -> None:
    """Accept all policies."""


class Reload:
    """Changes one host's configuration, or keeps the old one and says why.

    Of several demands only the last one counts, carried out or refused.

    Threading: :meth:`request` and :meth:`refuse` from any thread; the change
    itself happens in the refresh thread, between two refreshes.

    :param current: what the host runs on now.
    :param check: refuses, by :class:`IronicTooOldError`, policies that this
        Ironic is too old for, besides those whose scope it can't filter.
    """

    def __init__(
        self,
        host: process.Host,
        membership: local_member.Membership,
        refresher: refresh.Refresher,
        missing_nodes: MissingNodes,
        guard: action_guard.Guard,
        source: inventory.Inventory,
        current: Tuning,
        *,
        check: Callable[[policy_set.PolicySet], object] = _accept,
    ) -> None:
        self._host = host
        self._membership = membership
        self._refresher = refresher
        self._missing_nodes = missing_nodes
        self._guard = guard
        self._source = source
        self._check = check
        self._current = current
        self._lock = threading.Lock()
        self._demand: Tuning | str | None = None

    def request(self, wanted: Tuning) -> None:
        """Have a valid configuration applied before the next refresh."""
        self._put(wanted)

    def refuse(self, error: str) -> None:
        """Keep the old configuration, and tell the operator why.

        A change that was asked for before and is not complete is taken back.

        :param error: what is wrong with the new one.
        """
        self._log_refusal(error)
        self._put(error)

    def _put(self, demand: Tuning | str) -> None:
        with self._lock:
            self._demand = demand
        self._host.before_refresh(self._meet)

    def _meet(self) -> None:
        """Meet the last demand, or as much of it as is possible by now."""
        demand = self._demand
        if demand is None:
            return
        if isinstance(demand, str):
            self._keep(demand)
        elif not self._apply(demand):
            return
        with self._lock:
            if self._demand is demand:
                self._demand = None

    def _keep(self, error: str) -> None:
        self._membership.change_settings(self._current.advertised)
        self._report(error)

    def _report(self, error: str | None) -> None:
        """Store it; of a process that stands by, when it is active."""
        if self._membership.stands_by:
            self._refresher.keep_config_error(error)
        else:
            self._refresher.report_config_error(error)

    def _apply(self, wanted: Tuning) -> bool:
        """Apply as much as is possible by now.

        :returns: whether nothing is left to do.
        """
        try:
            scope = wanted.policies.scope
            self._source.check(scope)
            self._check(wanted.policies)
        except (
            exceptions.IronicTooOldError,
            exceptions.PluginFaultError,
        ) as exc:
            self._refuse_instead(wanted, str(exc))
            return False
        self._membership.change_settings(wanted.advertised)
        if not self._membership.advertises(wanted.advertised):
            return False
        self._current = wanted
        self._guard.policies = wanted.policies
        self._refresher.change_scope(scope)
        self._missing_nodes.limits = wanted.limits
        self._refresher.change_recovery_delay(wanted.recovery_delay)
        self._host.change_intervals(wanted.intervals)
        self._host.change_handover_limit(wanted.handover_limit)
        self._report(None)
        LOG.info('configuration reloaded: %s', wanted.advertised.to_json())
        return True

    def _refuse_instead(self, wanted: Tuning, error: str) -> None:
        """Turn a demand into its refusal, unless there is a newer one."""
        with self._lock:
            if self._demand is not wanted:
                return
            self._demand = error
        self._log_refusal(error)
        self._keep(error)

    def _log_refusal(self, error: str) -> None:
        LOG.error('configuration not reloaded, the old one stays: %s', error)
