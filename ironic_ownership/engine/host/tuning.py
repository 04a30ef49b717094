"""The settings that may change while a host runs; intervals are in seconds.

Read by the configuration and applied by the reload as they are. Imports
little: every command reads the configuration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.options import Source
from ironic_ownership.contracts.records import UNLIMITED, Budget
from ironic_ownership.engine.decision.peer_groups import settings_items
from ironic_ownership.engine.decision.policy_set import PolicySet
from ironic_ownership.engine.deletion.missing_nodes import Limits


@dataclasses.dataclass(frozen=True)
class Intervals:
    """The periods of the loops.

    :param watch: between two polls of the members.
    :param restart_grace: for how long this service is expected back after a
        stop.
    """

    heartbeat: float
    watch: float
    refresh: float
    restart_grace: float = 0.0


Snapshots = Mapping[tuple[str, str], model.Value]
"""Snapshots of sources, by the names of policy and source."""


@dataclasses.dataclass(frozen=True)
class PolicySource:
    """A source of a policy, as it is configured.

    :param policy: name in the configuration.
    :param origin: policy and package, in words.
    :param options: of the policy, secret ones included.
    """

    policy: str
    origin: str
    source: Source
    options: Mapping[str, model.Value]

    @property
    def key(self) -> tuple[str, str]:
        """The key of its snapshot."""
        return self.policy, self.source.name


@dataclasses.dataclass(frozen=True)
class Tuning:
    """One configuration of a running host.

    :param advertised: the policies as the other members read them.
    :param policies: the same policies, to call.
    :param handover_limit: nodes that one refresh lets change owner.
    :param budget: of automatic changes of owner in the deployment.
    :param recovery_delay: for how long a conductor must have had a driver
        again before its nodes are back in service.
    :param full_refresh_interval: after which all nodes are listed again;
        zero lists them in every refresh.
    :param sources: those of the policies.
    :param snapshots: with which the policies were built.
    :param rebuild: see :meth:`with_snapshots`.
    """

    advertised: model.MemberSettings
    policies: PolicySet
    intervals: Intervals
    limits: Limits
    handover_limit: int
    recovery_delay: float
    full_refresh_interval: float = 0.0
    budget: Budget = UNLIMITED
    sources: tuple[PolicySource, ...] = ()
    snapshots: Snapshots = dataclasses.field(default_factory=dict)
    rebuild: Callable[[Snapshots], Tuning] | None = dataclasses.field(
        default=None, compare=False
    )

    @property
    def names(self) -> frozenset[str]:
        """The names of the policies."""
        return frozenset(policy.name for policy in self.advertised.policies)

    @property
    def with_sources(self) -> frozenset[str]:
        """The names of the policies that have sources."""
        return frozenset(source.policy for source in self.sources)

    def with_snapshots(self, snapshots: Snapshots) -> Tuning:
        """Return the same configuration with other snapshots of its sources.

        :raises OwnershipError: if a policy refuses its snapshot.
        """
        return self if self.rebuild is None else self.rebuild(snapshots)

    def changes_to(self, other: Tuning) -> list[str]:
        """Return each option that another configuration changes, in a phrase.

        Policies have no secret options: they are advertised.
        """
        before, after = self._options(), other._options()
        return [
            f'{name}: {before.get(name, "unset")} -> '
            f'{after.get(name, "unset")}'
            for name in {**before, **after}
            if before.get(name) != after.get(name)
        ]

    def _options(self) -> Mapping[str, str]:
        numbers: Mapping[str, float] = {
            '[membership] heartbeat_interval': self.intervals.heartbeat,
            '[membership] watch_interval': self.intervals.watch,
            '[membership] restart_grace': self.intervals.restart_grace,
            '[ownership] refresh_interval': self.intervals.refresh,
            '[ownership] full_refresh_interval': self.full_refresh_interval,
            '[ownership] recheck_interval': self.limits.recheck_interval,
            '[ownership] mass_loss_share': self.limits.mass_loss_share,
            '[ownership] mass_loss_minimum': self.limits.mass_loss_minimum,
            '[ownership] trust_credential': self.limits.trusts_credential,
            '[ownership] handover_limit': self.handover_limit,
            '[ownership] handover_rate': self.budget.rate,
            '[ownership] handover_share': self.budget.share,
            '[ownership] recovery_delay': self.recovery_delay,
        }
        return {
            **dict(settings_items(self.advertised)),
            **{name: f'{value:g}' for name, value in numbers.items()},
        }
