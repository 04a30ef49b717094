"""Planner of the refreshes: what has to be decided, some nodes at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence, Set

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.availability.tracker import AvailabilityTracker
from ironic_ownership.engine.decision import policy_set, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host import slices
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.plan_memory import PlanMemory
from ironic_ownership.engine.host.reconcile_plan import Plan
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.snapshot import Part, Snapshot
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(eq=False)
class Planner:
    """Plans the changes of one service.

    Threading: the refresh thread only.

    :ivar policies: the own ones, when they could be built last.
    :ivar groups: the peer groups of the last plan.
    :ivar liveness: with which it was made.
    :ivar decided: all of the last plan, but for its changes.
    """

    context: ServiceContext
    reconciler: Reconciler
    operator_log: OperatorLog
    current: Callable[[], Liveness]
    availability: AvailabilityTracker | None = None

    def __post_init__(self) -> None:
        self.policies = policy_set.PolicySet()
        self.liveness = self.current()
        self.groups = PeerGroups((), frozenset(), {})
        self.decided = Plan()
        self._memory = PlanMemory()

    def clear(self) -> None:
        """Decide all nodes the next time."""
        self._memory.clear()

    def keep(self, seen: Snapshot) -> None:
        """Decide only what is affected the next time.

        :param seen: from which the last plan was made; all of its changes
            were written.
        """
        self._memory.keep(seen, self.groups, self.liveness, self.decided)

    def plans(
        self, seen: Snapshot, last: Collection[str] = ()
    ) -> Iterator[Plan]:
        """Decide nodes, and yield at least one plan.

        Each is made when it is asked for, so that the changes of the one
        before can be written, and forgotten.

        :param last: uuids of nodes to decide after all others.
        :raises PluginFaultError: if a policy of this service fails.
        """
        self.groups = self.reconciler.peer_groups(seen.services, seen.view)
        self._check_own_policies(seen.view)
        self.policies = (
            self.groups.policies.get(self.context.host) or self.policies
        )
        self.operator_log.decides_with(self.groups)
        self.liveness = self.current()
        affected = self._memory.affected(seen, self.groups, self.liveness)
        visited = affected if self._is_steady(seen) else None
        decided = self.decided = Plan()
        for nodes in slices.of(seen, self.groups, visited, last):
            plan = self._plan(seen.part(nodes), affected)
            decided.add(plan)
            yield plan
        if affected is not None:
            self.decided = self._memory.merged(seen, affected, decided)

    def _is_steady(self, seen: Snapshot) -> bool:
        if self.availability is None:
            return True
        return self.availability.observe(any_nodes=bool(seen.nodes))

    def _plan(self, seen: Part, affected: Set[str] | None) -> Plan:
        chosen: Sequence[model.Node] = seen.nodes
        if affected is not None:
            chosen = [node for node in chosen if node.uuid in affected]
        plan = self.reconciler.plan(
            dataclasses.replace(seen, nodes=chosen), self.groups, self.liveness
        )
        if self.availability is not None:
            plan.changes = self.availability.complete(
                self.context.host, plan.changes, seen.nodes, seen.records
            )
        return plan

    def _check_own_policies(self, view: model.View) -> None:
        host = self.context.host
        own = view.get(host)
        if own is None or self.groups.policies.get(host) is not None:
            return
        reason = settings_diff.unreadable(
            own.settings, self.context.ports.interpret
        )
        whose = self.policies.origins_in(reason)
        raise exceptions.PluginFaultError(
            f'{host} can no longer build its own policies: {reason}'
            f'{f" ({whose})" if whose else ""}',
            hint='Repair that package, and start the service again',
        )
