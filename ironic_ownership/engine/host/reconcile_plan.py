"""Compare decisions with the records: what one service has to change. Pure.

Nothing is taken from a service that may still be alive, and a group that
shares nodes moves none while it is not clear who is in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Change, Claim, Release, Update
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.membership import failure_detector


@dataclasses.dataclass
class Plan:
    """What a service would change, and what it can't or must not.

    :param waiting: nodes it is to own once their live owner releases them.
    :param held: nodes that would change owner, if it were clear who is dead.
    :param undecided: the services of which that is not clear.
    :param withheld: nodes its policies give it, by the host that keeps them
        on record until an operator moves them.
    :param contested: nodes about which live services disagree.
    :param filtered: own nodes that the own policies no longer admit.
    """

    changes: list[Change] = dataclasses.field(default_factory=list)
    waiting: int = 0
    held: int = 0
    undecided: frozenset[str] = frozenset()
    withheld: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    contested: list[str] = dataclasses.field(default_factory=list)
    filtered: list[str] = dataclasses.field(default_factory=list)


def plan(
    host: str,
    nodes: Iterable[model.Node],
    decisions: decide.Decisions,
    records: Mapping[str, model.ComputeNode],
    services: Mapping[str, model.Service],
    peer_groups: PeerGroups,
    judgement: failure_detector.Judgement = failure_detector.UNDISPUTED,
) -> Plan:
    """Work out what ``host`` has to change to make the decisions true.

    Every change states what it expects of the record, so a plan made from
    an old snapshot is refused and never carried out by mistake.

    :param judgement: who is dead of those that are not alive.
    """
    made = Plan(undecided=_undecided(host, services, peer_groups, judgement))
    for node in nodes:
        decision = decisions[node.uuid]
        record = records.get(node.uuid)
        owner = record.host if record else None
        if decision.contest is not None:
            made.contested.append(node.uuid)
        if record is not None and owner == host:
            _plan_own(made, host, node, decision, record)
        elif decision.owner == host:
            if owner is None or owner in peer_groups.alive:
                _plan_free(made, node, decision, owner)
            elif owner not in peer_groups.away:
                row = services.get(owner)
                _plan_inheritance(made, node, decision, owner, row, judgement)
        elif (
            decision.wanted_by == host
            and owner is not None
            and _needs_a_move(host, owner, peer_groups)
        ):
            made.withheld.setdefault(owner, []).append(node.uuid)
    return made


def _needs_a_move(host: str, owner: str, peer_groups: PeerGroups) -> bool:
    """Tell whether an operator should move a node from its owner.

    Among peers a deployed node that stays with a live one is as it should
    be; with a dead one nobody can manage it.
    """
    group = peer_groups.group_of.get(host)
    among_peers = group is not None and group.rebalancing
    return not (among_peers and owner in peer_groups.alive)


def _plan_own(
    made: Plan,
    host: str,
    node: model.Node,
    decision: model.Decision,
    record: model.ComputeNode,
) -> None:
    if decision.owner != host:
        if made.undecided:
            made.held += 1
        else:
            made.changes.append(Release(node.uuid))
        return
    if decision.filtered:
        made.filtered.append(node.uuid)
    if _outdated(record, node):
        made.changes.append(Update(node))


def _outdated(record: model.ComputeNode, node: model.Node) -> bool:
    return (
        record.instance_uuid != node.instance_uuid
        or record.shard != node.shard
        or record.conductor_group != node.conductor_group
        or record.name != node.name
        or record.driver != node.driver
    )


def _plan_free(
    made: Plan,
    node: model.Node,
    decision: model.Decision,
    owner: str | None,
) -> None:
    """Plan for a node that nobody owns, or that its live owner releases."""
    if owner is not None:
        made.waiting += 1
    elif made.undecided:
        made.held += 1
    else:
        made.changes.append(Claim(node, decision.reason))


def _plan_inheritance(
    made: Plan,
    node: model.Node,
    decision: model.Decision,
    owner: str,
    row: model.Service | None,
    judgement: failure_detector.Judgement,
) -> None:
    """Plan for a node whose owner is not alive."""
    if made.undecided or not _is_gone(owner, row, judgement):
        made.held += 1
        return
    made.changes.append(
        Claim(
            node,
            decision.reason,
            seen_host=owner,
            seen_epoch=row.epoch if row else None,
        )
    )


def _is_gone(
    host: str, row: model.Service | None, judgement: failure_detector.Judgement
) -> bool:
    """Tell whether a service that is not alive can't act any more.

    One that is fenced has given up its right, or lost it: nobody need wait
    until its death is certain. Who has just started does not know whether
    that was long ago, or a restart of everybody.
    """
    if row is None or row.forced_down or judgement.is_dead(host):
        return True
    return row.fenced and host in judgement.uncertain


def _undecided(
    host: str,
    services: Mapping[str, model.Service],
    peer_groups: PeerGroups,
    judgement: failure_detector.Judgement,
) -> frozenset[str]:
    """Return the peers of a service that may be dead, and may be alive.

    Itself, if the view lacks it: the store has forgotten it, and may have
    forgotten everybody.
    """
    if host not in peer_groups.alive:
        return frozenset({host})
    group = peer_groups.group_of.get(host)
    if group is None or not group.rebalancing:
        return frozenset()
    missing = group.peers - peer_groups.alive - peer_groups.away
    return frozenset(
        peer
        for peer in missing & services.keys()
        if not services[peer].disabled
        and not _is_gone(peer, services[peer], judgement)
    )


def limited(
    changes: Sequence[Change],
    limit: int,
    last: Collection[str] = (),
) -> list[Change]:
    """Return as much as may be done in one round.

    :param limit: so many nodes may change from one owner to another.
    :param last: nodes that come behind the others, because they were tried
        in vain: so nobody waits for ever behind them.
    """
    moving = [change for change in changes if hands_over(change)]
    if len(moving) <= limit:
        return list(changes)
    moving.sort(key=lambda change: change.uuid in last)
    return [
        *(change for change in changes if not hands_over(change)),
        *moving[:limit],
    ]


def hands_over(change: Change) -> bool:
    """Tell whether a change is one half, or all, of a change of owner."""
    return isinstance(change, Release) or (
        isinstance(change, Claim) and change.seen_host is not None
    )
