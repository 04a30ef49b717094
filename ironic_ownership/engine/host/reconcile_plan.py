"""Reconcile plan: the changes that make one service's decisions true. Pure.

Nothing is taken from a service that may still be alive, and a peer group moves
no node while one of its members is suspected to be dead.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Decision, Reason
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Outcome,
    Release,
    Update,
    hands_over,
)
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.membership.failure_detector import Liveness

Death = tuple[str, str]
"""A service that died, and the cause."""


@dataclasses.dataclass
class Plan:
    """The changes of one service, and the nodes that it can't change.

    :param waiting: number of nodes it is to own once their live owner, the
        key, releases them.
    :param deferred: nodes that would change owner if the suspects were known
        to be dead, or alive.
    :param suspects: services that may be alive or dead.
    :param withheld: nodes that its policies give it, by the host that keeps
        them on record until an operator moves them.
    :param contested: nodes that several live services admit, with the other
        service that has the node on record, if this one admits it as well.
    :param filtered: own nodes that the own policies no longer admit.
    """

    changes: list[Change] = dataclasses.field(default_factory=list)
    waiting: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    deferred: int = 0
    suspects: frozenset[str] = frozenset()
    withheld: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    contested: dict[str, str | None] = dataclasses.field(default_factory=dict)
    filtered: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: Plan) -> None:
        """Add what another plan says of other nodes, but not its changes."""
        self.waiting += other.waiting
        self.deferred += other.deferred
        self.suspects |= other.suspects
        for host, uuids in other.withheld.items():
            self.withheld.setdefault(host, []).extend(uuids)
        self.contested |= other.contested
        self.filtered += other.filtered


@dataclasses.dataclass(frozen=True)
class Basis:
    """All from which one service plans, but for the nodes.

    :param liveness: which of the missing services are dead.
    """

    host: str
    records: Mapping[str, model.ComputeNode]
    services: Mapping[str, model.Service]
    peer_groups: PeerGroups
    liveness: Liveness

    def plan(  # Model: Plans
        self, nodes: Iterable[model.Node], decisions: decide.Decisions
    ) -> Plan:
        """Plan the changes by which the service carries the decisions out.

        Every change states what it expects of the record, so that a plan from
        an old snapshot is refused.
        """
        host, peer_groups = self.host, self.peer_groups
        plan = Plan(suspects=self._suspects())
        rightful = {None, host, *self._rightful_owners()}
        for node in nodes:
            decision = decisions[node.uuid]
            record = self.records.get(node.uuid)
            owner = record.host if record else None
            if (
                decision.contest is not None
                and decision.reason is not Reason.UNDECIDED
            ):
                plan.contested[node.uuid] = (
                    owner
                    if host in decision.contenders and owner not in rightful
                    else None
                )
            if record is not None and owner == host:
                self._plan_own(plan, node, decision, record)
            elif decision.owner == host:
                if owner is not None and owner in peer_groups.alive:
                    plan.waiting[owner] += 1
                elif owner not in peer_groups.away:
                    self._plan_claim(plan, _claim(node, decision, record))
            elif (
                decision.wanted_by == host and owner and owner not in rightful
            ):
                plan.withheld.setdefault(owner, []).append(node.uuid)
        return plan

    def _rightful_owners(self) -> Set[str]:
        """Return the owners that need no move of a node that another wants."""
        services = self.services.items()
        stock = {host for host, row in services if row.is_stock}
        # Among peers a deployed node rightly stays with a live owner; with a
        # dead one no service can manage it.
        group = self.peer_groups.group_of.get(self.host)
        among_peers = group is not None and group.rebalancing
        return stock | self.peer_groups.alive if among_peers else stock

    def _plan_own(
        self,
        plan: Plan,
        node: model.Node,
        decision: Decision,
        record: model.ComputeNode,
    ) -> None:
        if decision.owner != self.host:
            if plan.suspects:
                plan.deferred += 1
            else:
                plan.changes.append(Release(node.uuid, node=node))
            return
        if decision.filtered:
            plan.filtered.append(node.uuid)
        if record.reason is Reason.BEING_DELETED:
            # Ironic has it again.
            plan.changes.append(_claim(node, decision, record))
        elif _outdated(record, node):
            plan.changes.append(Update(node))

    def _plan_claim(self, plan: Plan, claim: Claim) -> None:
        if (owner := claim.seen_host) is not None:
            row = self.services.get(owner)
            if row is not None and is_undecided(row):
                return
            cause = self._cause(owner, row)
            seen_epoch = row.epoch if row else None
            claim = dataclasses.replace(
                claim, seen_epoch=seen_epoch, cause=cause
            )
        if plan.suspects or (owner is not None and claim.cause is None):
            plan.deferred += 1
        else:
            plan.changes.append(claim)

    def _cause(self, host: str, row: model.Service | None) -> str | None:
        """Return why a host counts as gone, for events; ``None`` if not."""
        if row is None:
            return 'it is not registered'
        # Next to a cell, the flag alone may be over by now; on record it
        # fences.
        if row.forced_down and (row.fenced or row.never_registered):
            return 'an operator forced it down'
        if self.liveness.is_dead(host):
            return self.liveness.cause_of_death(host)
        # A fenced service has lost its right already, so its death need not be
        # certain. It has to be suspected, though: an observer that just
        # started cannot tell an old fence from a restart of all services.
        if row.fenced and host in self.liveness.suspect:
            return 'it was fenced before'
        return None

    def _suspects(self) -> frozenset[str]:
        groups, services = self.peer_groups, self.services
        if self.host not in groups.alive:
            # The store has lost this service, and may have lost all members.
            return frozenset({self.host})
        group = groups.group_of.get(self.host)
        if group is None or not group.rebalancing:
            return frozenset()
        missing = group.peers - groups.alive - groups.away
        return frozenset(
            peer
            for peer in missing & services.keys()
            if not services[peer].disabled
            and not is_undecided(services[peer])
            and self._cause(peer, services[peer]) is None
        )


def _outdated(record: model.ComputeNode, node: model.Node) -> bool:
    return (
        record.instance_uuid != node.instance_uuid
        or record.shard != node.shard
        or record.conductor_group != node.conductor_group
        or record.name != node.name
        or record.driver != node.driver
    )


def _claim(
    node: model.Node, decision: Decision, record: model.ComputeNode | None
) -> Claim:
    return Claim(
        node,
        decision.reason,
        seen_host=record.host if record else None,
        note=decision.note,
        seen_deletion=(
            record is not None and record.reason is Reason.BEING_DELETED
        ),
    )


def is_undecided(row: model.Service) -> bool:
    """Tell whether a service that is no member may serve its nodes.

    Then it does so in a way that this deployment does not see, as a service
    whose records were adopted before it was upgraded.
    """
    return row.never_registered and not row.forced_down


def limited(
    changes: Sequence[Change], limit: int, last: Collection[str] = ()
) -> list[Change]:
    """Return the changes that are allowed in one round.

    :param limit: number of nodes that may change from one owner to another.
    :param last: uuids of nodes to hand over after all others: they were
        refused before, and must not block the others indefinitely.
    """
    moving = [change for change in changes if hands_over(change)]
    if len(moving) <= limit:
        return list(changes)
    moving.sort(key=lambda change: change.uuid in last)
    return [
        *(change for change in changes if not hands_over(change)),
        *moving[:limit],
    ]


def taken_over(host: str, outcome: Outcome) -> collections.Counter[Death]:
    """Count the nodes that a service took over in one transaction."""
    return collections.Counter(
        (change.seen_host, str(change.cause))
        for change in outcome.applied
        if isinstance(change, Claim)
        and change.seen_host is not None
        and change.seen_host != host
    )
