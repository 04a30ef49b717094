"""Memory of the last plan: which nodes have to be decided again. Pure.

A decision follows from the node, its record, and what all nodes share: the
services, the members, which of them are dead, and whose policies this process
can call. While that is the same, and the policies decide node by node, only
nodes that are described differently, or have another record, can get another
decision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Set

from ironic_ownership.contracts import model
from ironic_ownership.contracts.compact import CompactMap
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.host.reconcile_plan import Plan
from ironic_ownership.engine.host.snapshot import Snapshot
from ironic_ownership.engine.membership.failure_detector import Liveness


@dataclasses.dataclass(frozen=True)
class _Inputs:
    nodes: CompactMap[model.Node]
    records: CompactMap[model.ComputeNode]
    services: Mapping[str, model.Service]
    view: model.View
    readable: Set[str]
    liveness: Liveness


class PlanMemory:
    """The inputs and the result of the last plan.

    Threading: the refresh thread only.
    """

    def __init__(self) -> None:
        self._inputs: _Inputs | None = None
        self._plan = Plan()

    def clear(self) -> None:
        """Decide all nodes the next time."""
        self._inputs = None

    def affected(
        self, seen: Snapshot, groups: PeerGroups, liveness: Liveness
    ) -> Set[str] | None:
        """Return the nodes to decide again; ``None`` for all of them.

        :returns: uuids of nodes of the snapshot.
        """
        before = self._inputs
        if (
            before is None
            or seen.is_whole
            or seen.view != before.view
            or seen.services != before.services
            or liveness != before.liveness
            or _readable(groups) != before.readable
            or not decides_node_by_node(groups)
        ):
            return None
        uuids = seen.nodes.differing(before.nodes)
        uuids |= seen.records.differing(before.records)
        return {uuid for uuid in uuids if uuid in seen.nodes}

    def merged(
        self, seen: Snapshot, affected: Collection[str], plan: Plan
    ) -> Plan:
        """Return the plan for all nodes, of which only some were decided.

        :param plan: for the affected nodes.
        """
        last = self._plan
        if not affected and self._is_same_list(seen):
            return dataclasses.replace(last, changes=[])

        def kept(uuids: Iterable[str]) -> list[str]:
            return [u for u in uuids if u not in affected and u in seen.nodes]

        withheld = {
            host: uuids
            for host in {**last.withheld, **plan.withheld}
            if (
                uuids := [
                    *kept(last.withheld.get(host, ())),
                    *plan.withheld.get(host, ()),
                ]
            )
        }
        return dataclasses.replace(
            plan,
            withheld=withheld,
            contested={
                **{u: last.contested[u] for u in kept(last.contested)},
                **plan.contested,
            },
            filtered=[*kept(last.filtered), *plan.filtered],
        )

    def keep(
        self,
        seen: Snapshot,
        groups: PeerGroups,
        liveness: Liveness,
        plan: Plan,
    ) -> None:
        """Remember a plan all of whose changes were written.

        One that waits for something is made again from all nodes.
        """
        if plan.suspects or plan.waiting or plan.deferred:
            self._inputs = None
            return
        self._plan = plan
        self._inputs = _Inputs(
            seen.nodes,
            seen.records,
            seen.services,
            seen.view,
            _readable(groups),
            liveness,
        )

    def _is_same_list(self, seen: Snapshot) -> bool:
        return self._inputs is not None and seen.nodes is self._inputs.nodes


def _readable(groups: PeerGroups) -> Set[str]:
    """Return the services whose policies this process can build.

    One that it could not build it may build later, from the same settings.
    """
    return {
        host
        for host, policies in groups.policies.items()
        if policies is not None
    }


def decides_node_by_node(groups: PeerGroups) -> bool:
    """Tell whether each decision is independent of the other nodes."""
    return all(
        not group.fails
        and (
            group.policies.assigner is None
            or group.policies.assigner.node_by_node
        )
        for group in groups.groups
    )
