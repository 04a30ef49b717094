"""Health of a host process: whether it does its work, and why not.

What the process itself knows, without a request to any server, so that it
also answers while all of them are down.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ironic_ownership.contracts.conditions import Condition, Loop
from ironic_ownership.engine.conditions import NODES_TAKEN
from ironic_ownership.engine.host.operator_log import Activity, Key
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.membership.local_member import LocalMember
from ironic_ownership.engine.membership.registration import Role

ROLES = (Role.STARTING, Role.ACTIVE, Role.STANDBY, Role.FORCED_DOWN)
"""Roles that a process shows. Heartbeats that fail are a fault, no role."""


@dataclasses.dataclass(frozen=True)
class Health:
    """The health of one process at one moment.

    :param role: one of :data:`ROLES`.
    :param fence_remaining: seconds for which it may still act without another
        heartbeat; 0 if it may not.
    :param now: time of the conditions' clock, in seconds.
    :param took: seconds that the last success of a loop took, by loop.
    :param errors: failures since the start, by loop and code.
    :param changes: changes since the start, by kind and reason.
    :param summary: counts of the last refresh; ``None`` before the first.
    """

    host: str
    role: Role
    fence_remaining: float
    now: float
    loops: tuple[Condition, ...]
    took: Mapping[str, float]
    errors: Mapping[Key, int]
    changes: Mapping[Key, int]
    summary: Summary | None

    @property
    def faults(self) -> list[str]:
        """Reasons why the process does not do its work; none if it does.

        A standby has nothing to do but to stay a member, and one that an
        operator forces down nothing at all.
        """
        if self.role == Role.FORCED_DOWN:
            return []
        found = [
            f'{one.loop}: {one.error or "its thread has ended"}'
            for one in self.loops
            if one.fails
            and one.code != NODES_TAKEN  # it does its work, with fewer nodes
            and (self.role != Role.STANDBY or one.loop == Loop.HEARTBEAT)
        ]
        if self.role == Role.STARTING and not found:
            found.append('not registered yet')
        if self.role == Role.ACTIVE and self.fence_remaining <= 0:
            found.append('no valid membership: nothing is acted on')
        return found


def read(
    member: LocalMember,
    summary: Summary | None,
    activity: Activity,
    loops: tuple[Condition, ...],
) -> Health:
    """Return the health of this moment, without any request.

    :param summary: of the last refresh.
    :param loops: their conditions of this moment.
    """
    context, conditions = member.context, member.context.conditions
    return Health(
        context.host,
        member.state.role,
        max(0.0, context.fence.remaining),
        conditions.clock(),
        loops,
        conditions.took,
        conditions.errors,
        activity.changes,
        summary,
    )
