"""The settings that may change while a host runs; intervals are in seconds.

Read by the configuration and applied by the reload as they are. Imports
little: every command reads the configuration.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
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


@dataclasses.dataclass(frozen=True)
class Tuning:
    """One configuration of a running host.

    :param advertised: the policies as the other members read them.
    :param policies: the same policies, to call.
    :param handover_limit: nodes that one refresh lets change owner.
    :param recovery_delay: for how long a conductor must have had a driver
        again before its nodes are back in service.
    """

    advertised: model.MemberSettings
    policies: PolicySet
    intervals: Intervals
    limits: Limits
    handover_limit: int
    recovery_delay: float
