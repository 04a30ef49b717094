"""Explain one decision: inputs, members, policies, rule, record, advice.

Pure. Depends on what all processes share and on nothing that is configured
here, so that the explanation is the same on every machine. Law 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import decide, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups
from ironic_ownership.engine.queries import advice as queries_advice
from ironic_ownership.engine.queries import node_status
from ironic_ownership.engine.queries.candidates import (
    Candidate,
    Moment,
    consider,
)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The chain from the inputs to the decision, and from there to advice.

    :param finding: node, record, decision and state.
    :param wish: what the policies alone want, without record and instance.
    :param rule: the rule that was applied, in one sentence.
    :param assigner: name of the policy that chose among several, if any.
    :param peers: hosts among which it would choose, alive or not.
    :param live_peers: those among which it chose.
    :param owner: the row of the service on record.
    """

    finding: node_status.Finding
    candidates: tuple[Candidate, ...]
    wish: model.Decision | None
    rule: str
    assigner: str | None
    peers: tuple[str, ...]
    live_peers: tuple[str, ...]
    owner: model.Service | None
    advice: tuple[str, ...]


def companions_scope(
    node: model.Node, peer_groups: PeerGroups
) -> model.Scope | None:
    """Return where to look for the nodes that are decided with this one.

    :returns: ``None`` if the node is decided by itself.
    """
    group = _deciding(node, peer_groups)
    if group is None or group.policies.assigner is None:
        return None
    if group.policies.assigner.node_by_node:
        return None
    return group.policies.scope


def explain(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    moment: Moment,
    companions: Sequence[model.Node] = (),
    fleet: evaluation.Fleet | None = None,
) -> Explanation:
    """Explain who owns a node, and why.

    :param node: as Ironic describes it; ``None`` for 404.
    :param record: its record; ``None`` if there is none.
    :param companions: all nodes of :func:`companions_scope`, if there is one.
    :param fleet: who works on nodes; ``None`` if that is not known.
    :raises PluginFaultError: if a policy fails.
    """
    finding = _finding(
        uuid, node, record, moment.peer_groups, companions, fleet
    )
    group = _deciding(node, moment.peer_groups) if node else None
    rows = {row.host: row for row in moment.services}
    owner = record.host if record else None
    explanation = Explanation(
        finding=finding,
        candidates=consider(node, rows, moment),
        wish=_wish(node, moment.peer_groups, companions),
        rule='',
        assigner=(
            settings_diff.assigner(group.settings, moment.interpret)
            if group
            else None
        ),
        peers=tuple(sorted(group.peers)) if group else (),
        live_peers=group.hosts if group else (),
        owner=rows.get(owner) if owner else None,
        advice=(),
    )
    return dataclasses.replace(
        explanation,
        rule=queries_advice.rule(explanation),
        advice=tuple(queries_advice.advice(explanation)),
    )


def _finding(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    peer_groups: PeerGroups,
    companions: Sequence[model.Node],
    fleet: evaluation.Fleet | None,
) -> node_status.Finding:
    nodes = {n.uuid: n for n in companions}
    if node is not None:
        nodes[uuid] = node
    found = node_status.survey(
        nodes.values(), [record] if record else [], peer_groups, fleet
    )
    return next(finding for finding in found if finding.uuid == uuid)


def _wish(
    node: model.Node | None,
    peer_groups: PeerGroups,
    companions: Sequence[model.Node],
) -> model.Decision | None:
    if node is None:
        return None
    free = dataclasses.replace(node, instance_uuid=None)
    nodes = {n.uuid: n for n in companions} | {node.uuid: free}
    return decide.decide(nodes.values(), {}, peer_groups)[node.uuid]


def _deciding(node: model.Node, peer_groups: PeerGroups) -> PeerGroup | None:
    """Return the one peer group that admits the node; none if several do."""
    groups = [g for g in peer_groups.groups if g.policies.admits(node)]
    return groups[0] if len(groups) == 1 else None
