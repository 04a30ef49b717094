"""Decide the owner of each node: a pure function of one moment.

Nodes of one shard and conductor group share the search for candidates, and
nodes with the same result share one decision. Both keep 100,000 nodes within
a fraction of a second.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.reasons import Contest, Decision
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups

Decisions = Mapping[str, Decision]
"""By uuid of the node."""

_Candidates = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of the peer groups that admit a node, and of those that may."""


def decide(
    nodes: Iterable[model.Node],
    records: Mapping[str, model.ComputeNode],
    peer_groups: PeerGroups,
    owners: Mapping[str, str | None] | None = None,
) -> Decisions:
    """Decide the owner of each node.

    :param nodes: nodes of Ironic, each once, in any order.
    :param records: compute nodes by uuid, at least those of ``nodes``.
    :param owners: on record, by uuid, for assigners that read them; by
        default those of ``records``.
    :returns: one decision for each node.
    :raises PluginFaultError: if a policy breaks its contract or does not
        answer, unless the peer groups tolerate it; see :class:`PeerGroups`.
    """
    found = tuple(nodes)
    return plugin_guard.bounded(
        lambda: _decide(found, records, peer_groups, owners),
        foreign=any(g.policies.is_foreign for g in peer_groups.groups),
    )


def _decide(
    nodes: Iterable[model.Node],
    records: Mapping[str, model.ComputeNode],
    peer_groups: PeerGroups,
    owners: Mapping[str, str | None] | None,
) -> Decisions:
    if owners is None and any(
        group.policies.reads_owners for group in peer_groups.groups
    ):
        owners = {uuid: record.host for uuid, record in records.items()}
    decided: dict[str, Decision] = {}
    for group_nodes, decisions in _desired(nodes, peer_groups, owners or {}):
        for node, desired in zip(group_nodes, decisions, strict=True):
            record = records.get(node.uuid)
            as_recorded = (
                node.instance_uuid is None
                if record is None
                else record.host == desired.owner
            )
            decided[node.uuid] = (
                desired
                if as_recorded
                else _with_record(node, record, desired, peer_groups)
            )
    return decided


def _desired(
    nodes: Iterable[model.Node],
    peer_groups: PeerGroups,
    owners: Mapping[str, str | None],
) -> Iterable[tuple[Sequence[model.Node], Sequence[Decision]]]:
    by_groups: dict[_Candidates, list[model.Node]] = {}
    for candidates, admitted in _admitted(nodes, peer_groups):
        by_groups.setdefault(candidates, []).extend(admitted)
    for candidates, admitted in by_groups.items():
        admitting, failing = candidates
        groups = [peer_groups.groups[number] for number in admitting]
        if failing:
            groups += [peer_groups.groups[number] for number in failing]
            yield admitted, [_undecided(groups)] * len(admitted)
        elif len(groups) == 1 and groups[0].policies.assigner is not None:
            (group,) = groups
            try:
                yield (
                    admitted,
                    group.policies.choose(admitted, group.live_peers, owners),
                )
            except exceptions.PluginFaultError as exc:
                peer_groups.on_fault(group.hosts, exc)
                yield admitted, [_undecided(groups)] * len(admitted)
        else:
            yield admitted, [_unassigned(groups)] * len(admitted)


def _admitted(
    nodes: Iterable[model.Node], peer_groups: PeerGroups
) -> Iterable[tuple[_Candidates, Sequence[model.Node]]]:
    """Yield nodes with the numbers of the peer groups that admit them."""
    places: dict[tuple[str | None, str], list[model.Node]] = (
        collections.defaultdict(list)
    )
    for node in nodes:
        places[node.shard, node.conductor_group].append(node)
    for place, located in places.items():
        numbers = range(len(peer_groups.groups))
        matching, failing = _candidates(numbers, peer_groups, place)
        if not any(
            peer_groups.groups[number].policies.beyond_scope
            for number in matching + failing
        ):
            yield (matching, failing), located
            continue
        for node in located:
            admitting, also_failing = _candidates(
                matching, peer_groups, place, node
            )
            still = tuple(
                number
                for number in failing
                if peer_groups.groups[number].policies.may_admit(*place, node)
            )
            yield (admitting, still + also_failing), (node,)


def _candidates(
    numbers: Iterable[int],
    peer_groups: PeerGroups,
    place: tuple[str | None, str],
    node: model.Node | None = None,
) -> _Candidates:
    """Return the groups that admit, and those that may, because they fail.

    :param node: without it only the scopes count.
    """
    admitting: list[int] = []
    failing: list[int] = []
    for number in numbers:
        group = peer_groups.groups[number]
        policies = group.policies
        try:
            if not (
                policies.scope.matches(*place)
                if node is None
                else policies.admits(node)
            ):
                continue
        except exceptions.PluginFaultError as exc:
            peer_groups.on_fault(group.hosts, exc)
            if policies.may_admit(*place, node):
                failing.append(number)
            continue
        (failing if group.fails else admitting).append(number)
    return tuple(admitting), tuple(failing)


def _undecided(groups: Sequence[PeerGroup]) -> Decision:
    return Decision(
        None,
        reasons.Reason.UNDECIDED,
        tuple(sorted(h for group in groups for h in group.hosts)),
        Contest.CONTESTED,
    )


def _unassigned(groups: Sequence[PeerGroup]) -> Decision:
    if not groups:
        return Decision(None, reasons.Reason.NOT_ADMITTED)
    if len(groups) == 1:
        return Decision(groups[0].hosts[0], reasons.Reason.EXCLUSIVE)
    contenders = tuple(sorted(h for group in groups for h in group.hosts))
    lists = {
        tuple(policy.name for policy in group.settings.policies)
        for group in groups
    }
    if len(lists) == 1 and all(len(group.peers) == 1 for group in groups):
        # The later one claims nothing, and ``check`` reports the conflict.
        first = min(groups, key=lambda group: group.first_joined)
        return Decision(
            first.hosts[0],
            reasons.Reason.CONFLICT_FIRST,
            contenders,
            Contest.CONFLICT,
        )
    return Decision(
        None, reasons.Reason.CONTESTED_UNOWNED, contenders, Contest.CONTESTED
    )


def _with_record(
    node: model.Node,
    record: model.ComputeNode | None,
    desired: Decision,
    peer_groups: PeerGroups,
) -> Decision:
    owner = record.host if record else None
    recorded_instance = record.instance_uuid if record else None
    deployed = bool(node.instance_uuid or recorded_instance)
    if owner is None:
        if deployed and desired.owner is not None:
            former = (record and record.released_by) or ''
            # One whose policies are unreadable here may admit it.
            known = former in peer_groups.policies
            if known and peer_groups.admits(former, node) is not False:
                return _returned(former, desired, peer_groups)
            return dataclasses.replace(desired, reason=reasons.Reason.ADOPTED)
        return desired
    if desired.owner == owner:
        return desired
    if not deployed and _may_leave(owner, desired, peer_groups):
        return desired
    return Decision(
        owner,
        reasons.Reason.INSTANCE_STAYS if deployed else _keeps(desired),
        desired.contenders,
        desired.contest,
        filtered=peer_groups.admits(owner, node) is False,
        wanted_by=desired.owner,
        note=desired.note,
    )


def _returned(
    former: str, desired: Decision, peer_groups: PeerGroups
) -> Decision:
    # Only the service that owned the node can have created the instance,
    # just before its release. While it does not serve, no other claims it.
    serves = former in peer_groups.group_of
    return dataclasses.replace(
        desired,
        owner=former if serves else None,
        reason=reasons.Reason.RETURNED,
        wanted_by=desired.owner,
    )


def _may_leave(owner: str, desired: Decision, peer_groups: PeerGroups) -> bool:
    """Tell whether a free node may leave its owner automatically.

    Source: ironic-shards, "Data model impact": only in hash ring mode, and
    only with more than one peer. Both sides have to be in it: a node never
    leaves a service that owns it exclusively. It becomes unowned only under
    an assigner that releases it, of its owner and of the admitting services.
    """
    if desired.contest is not None:
        return False
    if desired.owner is None:
        return _rebalances(owner, peer_groups) or _releases(
            owner, desired, peer_groups
        )
    if not _rebalances(desired.owner, peer_groups):
        return False
    group = peer_groups.group_of[desired.owner]
    policies = peer_groups.policies.get(owner)
    return owner in group.peers or (
        policies is not None and policies.rebalancing
    )


def _rebalances(owner: str, peer_groups: PeerGroups) -> bool:
    group = peer_groups.group_of.get(owner)
    return group is not None and group.rebalancing


def _releases(owner: str, desired: Decision, peer_groups: PeerGroups) -> bool:
    policies = peer_groups.policies.get(owner)
    return (
        desired.reason is reasons.Reason.UNASSIGNED
        and policies is not None
        and policies.releases_free
    )


def _keeps(desired: Decision) -> reasons.Reason:
    if desired.reason is reasons.Reason.UNDECIDED:
        return desired.reason
    if desired.contest is Contest.CONTESTED:
        return reasons.Reason.CONTESTED_KEEPS
    if desired.reason is reasons.Reason.NOT_ADMITTED:
        return reasons.Reason.FILTERED_KEEPS
    return reasons.Reason.RECORD_KEEPS
