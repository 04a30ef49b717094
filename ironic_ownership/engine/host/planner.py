"""Planner of the refreshes: what has to be decided, some nodes at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.availability.tracker import AvailabilityTracker
from ironic_ownership.engine.decision import peer_groups, policy_set
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroups,
    why_unreadable,
)
from ironic_ownership.engine.host.operator_log import OperatorLog
from ironic_ownership.engine.host.reconcile_plan import Plan
from ironic_ownership.engine.host.reconciler import Reconciler
from ironic_ownership.engine.host.snapshot import Snapshot
from ironic_ownership.engine.membership.failure_detector import Liveness
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(frozen=True)
class _Shared:
    """All from which decisions follow, but for node and record."""

    services: Mapping[str, model.Service]
    view: model.View
    liveness: Liveness
    readable: Set[str]


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
    availability: AvailabilityTracker

    def __post_init__(self) -> None:
        self.policies = policy_set.PolicySet()
        self.liveness = self.current()
        self.groups = PeerGroups((), frozenset(), {})
        self.decided = Plan()
        self._last: tuple[_Shared, Plan] | None = None

    def clear(self) -> None:
        """Decide all nodes the next time."""
        self._last = None

    def keep(self, seen: Snapshot) -> None:
        """Decide only what is affected the next time.

        A plan that waits for something is made again from all nodes.

        :param seen: from which the last plan was made; all of its changes
            were written. The next snapshot tells what changed since.
        """
        plan = self.decided
        waits = plan.suspects or plan.waiting or plan.deferred
        self._last = None if waits else (self._shared(seen), plan)

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
        affected = self._affected(seen)
        visited: Collection[str] = seen.nodes
        is_steady = self.availability.observe(any_nodes=bool(seen.nodes))
        if is_steady and affected is not None:
            visited = dict.fromkeys(sorted(affected))
        ordered = [uuid for uuid in visited if uuid not in last]
        ordered += sorted(uuid for uuid in last if uuid in visited)
        size = peer_groups.BATCH if self.groups.divisible else len(ordered)
        decided = self.decided = Plan()
        # At least one, if there is no node at all.
        for first in range(0, len(ordered) or 1, size or 1):
            some = [seen.nodes[u] for u in ordered[first : first + size]]
            plan = self._plan(some, seen, affected)
            decided.add(plan)
            yield plan
        if affected is not None:
            self.decided = self._merged(seen, affected, decided)

    def _shared(self, seen: Snapshot) -> _Shared:
        # Policies that could not be built may be later, from the same
        # settings.
        found = self.groups.policies.items()
        readable = {host for host, policies in found if policies is not None}
        return _Shared(seen.services, seen.view, self.liveness, readable)

    def _affected(self, seen: Snapshot) -> Set[str] | None:
        """Return the nodes to decide again; ``None`` for all of them.

        A decision follows from the node, its record, and what all nodes
        share. While that is the same, and the policies decide node by node,
        only nodes that are described differently, or have another record,
        can get another decision.
        """
        if (
            seen.changed is None
            or self._last is None
            or self._last[0] != self._shared(seen)
            or not self.groups.node_by_node
        ):
            return None
        return {uuid for uuid in seen.changed if uuid in seen.nodes}

    def _merged(
        self, seen: Snapshot, affected: Collection[str], plan: Plan
    ) -> Plan:
        """Return the plan for all nodes, of which only some were decided.

        :param plan: for the affected nodes.
        """
        last = self._last[1] if self._last else Plan()

        def kept(uuids: Iterable[str]) -> list[str]:
            return [u for u in uuids if u not in affected and u in seen.nodes]

        withheld = {
            host: [
                *kept(last.withheld.get(host, ())),
                *plan.withheld.get(host, ()),
            ]
            for host in {**last.withheld, **plan.withheld}
        }
        return dataclasses.replace(
            plan,
            withheld={
                host: uuids for host, uuids in withheld.items() if uuids
            },
            contested={
                **{u: last.contested[u] for u in kept(last.contested)},
                **plan.contested,
            },
            filtered=[*kept(last.filtered), *plan.filtered],
        )

    def _plan(
        self,
        nodes: Sequence[model.Node],
        seen: Snapshot,
        affected: Set[str] | None,
    ) -> Plan:
        chosen = nodes
        if affected is not None:
            chosen = [node for node in nodes if node.uuid in affected]
        plan = self.reconciler.plan(
            chosen, seen.records, seen.services, self.groups, self.liveness
        )
        plan.changes = self.availability.complete(
            self.context.host, plan.changes, nodes, seen.records
        )
        return plan

    def _check_own_policies(self, view: model.View) -> None:
        host = self.context.host
        own = view.get(host)
        if own is None or self.groups.policies.get(host) is not None:
            return
        reason = why_unreadable(own.settings, self.context.ports.interpret)
        whose = self.policies.origins_in(reason)
        raise exceptions.PluginFaultError(
            f'{host} can no longer build its own policies: {reason}'
            f'{f" ({whose})" if whose else ""}',
            hint='Repair that package, and start the service again',
        )
