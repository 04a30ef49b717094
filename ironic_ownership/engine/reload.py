"""Put a changed configuration into a running host, without leaving.

What decides is what the members advertise, so the change becomes valid for
everybody, this service included, in the moment it is advertised. Only then
does the service list the new scope.
"""

from __future__ import annotations

import dataclasses

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.engine import (
    absentees,
    guard,
    host,
    membership,
    policy_set,
    refresh,
)

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What may change while a host runs; intervals are in seconds."""

    advertised: model.MemberSettings
    policies: policy_set.PolicySet
    heartbeat_interval: float
    refresh_interval: float
    limits: absentees.Limits


class Reload:
    """Changes one host's configuration, or keeps the old one and says why.

    Threading: :meth:`request` and :meth:`refuse` from any thread; the change
    itself happens in the refresh thread, between two refreshes.
    """

    def __init__(
        self,
        host_: host.Host,
        membership_: membership.Membership,
        refresher: refresh.Refresher,
        absentees_: absentees.Absentees,
        guard_: guard.Guard,
        source: inventory.Inventory,
    ) -> None:
        self._host = host_
        self._membership = membership_
        self._refresher = refresher
        self._absentees = absentees_
        self._guard = guard_
        self._source = source

    def request(self, wanted: Tuning) -> None:
        """Have a valid configuration applied before the next refresh."""
        self._host.before_refresh(lambda: self._apply(wanted))

    def refuse(self, error: str) -> None:
        """Keep the old configuration, and tell the operator why.

        :param error: what is wrong with the new one.
        """
        LOG.error('configuration not reloaded, the old one stays: %s', error)
        self._refresher.config_error = error
        self._host.before_refresh(lambda: True)

    def _apply(self, wanted: Tuning) -> bool:
        """Apply as much as is possible by now.

        :returns: whether nothing is left to do.
        """
        scope = wanted.policies.scope
        try:
            self._source.check(scope)
        except exceptions.IronicTooOldError as exc:
            self.refuse(str(exc))
            return True
        self._membership.change_settings(wanted.advertised)
        if not self._membership.advertises(wanted.advertised):
            return False
        self._guard.policies = wanted.policies
        self._refresher.change_scope(scope)
        self._absentees.limits = wanted.limits
        self._host.change_intervals(
            wanted.heartbeat_interval, wanted.refresh_interval
        )
        self._refresher.config_error = None
        LOG.info('configuration reloaded: %s', wanted.advertised.to_json())
        return True
