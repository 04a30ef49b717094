"""Compare decisions with the records: what one service has to change. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts import records as records_
from ironic_ownership.engine import decide
from ironic_ownership.engine import roster as roster_


@dataclasses.dataclass
class Plan:
    """What a service would change, and what it can't or must not.

    :param waiting: nodes it is to own once their live owner releases them.
    :param withheld: nodes its policies give it, by the host that keeps them
        on record until an operator moves them.
    :param contested: nodes about which live services disagree.
    :param filtered: own nodes that the own policies no longer admit.
    """

    changes: list[records_.Change] = dataclasses.field(default_factory=list)
    waiting: int = 0
    withheld: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    contested: list[str] = dataclasses.field(default_factory=list)
    filtered: list[str] = dataclasses.field(default_factory=list)


def plan(
    host: str,
    nodes: Iterable[model.Node],
    decisions: decide.Decisions,
    records: Mapping[str, model.ComputeNode],
    services: Mapping[str, model.Service],
    roster: roster_.Roster,
) -> Plan:
    """Work out what ``host`` has to change to make the decisions true.

    Every change states what it expects of the record, so a plan made from
    an old snapshot is refused and never carried out by mistake.
    """
    made = Plan()
    for node in nodes:
        decision = decisions[node.uuid]
        record = records.get(node.uuid)
        owner = record.host if record else None
        if decision.contest is not None:
            made.contested.append(node.uuid)
        if record is not None and owner == host:
            _plan_own(made, host, node, decision, record)
        elif decision.owner == host:
            _plan_claim(made, node, decision, owner, services, roster)
        elif (
            decision.wanted_by == host
            and owner is not None
            and _needs_a_move(host, owner, roster)
        ):
            made.withheld.setdefault(owner, []).append(node.uuid)
    return made


def _needs_a_move(host: str, owner: str, roster: roster_.Roster) -> bool:
    """Tell whether an operator should move a node from its owner.

    Among peers a deployed node that stays with a live one is as it should
    be; with a dead one nobody can manage it.
    """
    group = roster.group_of.get(host)
    among_peers = group is not None and group.rebalancing
    return not (among_peers and owner in roster.alive)


def _plan_own(
    made: Plan,
    host: str,
    node: model.Node,
    decision: model.Decision,
    record: model.ComputeNode,
) -> None:
    if decision.owner != host:
        made.changes.append(records_.Release(node.uuid))
        return
    if decision.filtered:
        made.filtered.append(node.uuid)
    if _outdated(record, node):
        made.changes.append(records_.Update(node))


def _outdated(record: model.ComputeNode, node: model.Node) -> bool:
    return (
        record.instance_uuid != node.instance_uuid
        or record.shard != node.shard
        or record.conductor_group != node.conductor_group
        or record.name != node.name
        or record.driver != node.driver
    )


def _plan_claim(
    made: Plan,
    node: model.Node,
    decision: model.Decision,
    owner: str | None,
    services: Mapping[str, model.Service],
    roster: roster_.Roster,
) -> None:
    if owner is None:
        made.changes.append(records_.Claim(node, decision.reason))
    elif owner in roster.alive:
        made.waiting += 1
    else:
        row = services.get(owner)
        made.changes.append(
            records_.Claim(
                node,
                decision.reason,
                seen_host=owner,
                seen_epoch=row.epoch if row else None,
            )
        )
