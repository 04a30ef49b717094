"""Explanation of one decision: inputs, members, policies and record.

Pure. Depends only on what all processes share, not on the local
configuration, so that the explanation is the same on every machine. Law 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.decision import Decision
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import decide, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups
from ironic_ownership.engine.queries import node_status
from ironic_ownership.engine.queries.candidates import (
    Candidate,
    Services,
    consider,
)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The chain from the inputs to the decision.

    :param preferred: the decision of the policies alone, without record and
        instance.
    :param assigner: name of the policy that chose among several, if any.
    :param peers: hosts among which it would choose, alive or not.
    :param live_peers: those among which it chose.
    :param owner: the row of the service on record.
    """

    status: node_status.NodeStatus
    candidates: tuple[Candidate, ...]
    preferred: Decision | None
    assigner: str | None
    peers: tuple[str, ...]
    live_peers: tuple[str, ...]
    owner: model.Service | None

    @property
    def decision(self) -> Decision:
        """The decision; without an owner for a node that is gone."""
        return self.status.decision or Decision(None, Reason.NODE_GONE)

    @property
    def preferred_owner(self) -> str | None:
        """The service that the policies alone would choose."""
        return self.preferred.owner if self.preferred else None


def companions_scope(
    node: model.Node, peer_groups: PeerGroups
) -> model.Scope | None:
    """Return the scope of the nodes that are decided together with this one.

    :returns: ``None`` if the node is decided by itself.
    """
    group = _deciding(node, peer_groups)
    assigner = group.policies.assigner if group else None
    if group is None or assigner is None or assigner.node_by_node:
        return None
    return group.policies.scope


def explain(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    services: Services,
    companions: Sequence[model.Node] = (),
    fleet: evaluation.Fleet | None = None,
) -> Explanation:
    """Explain who owns a node, and why.

    :param node: ``None`` if Ironic answers 404.
    :param companions: all nodes of :func:`companions_scope`, if there is one.
    :raises PluginFaultError: if a policy fails.
    """
    groups = services.peer_groups
    nodes = {n.uuid: n for n in companions}
    group = preferred = None
    if node is not None:
        nodes[uuid] = node
        group = _deciding(node, groups)
        free = dataclasses.replace(node, instance_uuid=None)
        alone = (nodes | {uuid: free}).values()
        preferred = decide.decide(alone, {}, groups)[uuid]
    statuses = node_status.evaluate(
        nodes.values(), [record] if record else [], groups, fleet
    )
    owner = record.host if record else None
    return Explanation(
        status=next(status for status in statuses if status.uuid == uuid),
        candidates=consider(node, services),
        preferred=preferred,
        assigner=(
            settings_diff.assigner(group.settings, services.interpret)
            if group
            else None
        ),
        peers=tuple(sorted(group.peers)) if group else (),
        live_peers=group.hosts if group else (),
        owner=services.rows.get(owner) if owner else None,
    )


def _deciding(node: model.Node, peer_groups: PeerGroups) -> PeerGroup | None:
    """Return the one peer group that admits the node; none if several do."""
    groups = [g for g in peer_groups.groups if g.policies.admits(node)]
    return groups[0] if len(groups) == 1 else None
