"""Decisions before and after a change of members or settings. Pure.

Decides as the services do: nothing is estimated.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Callable, Collection, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import (
    OnFault,
    PeerGroups,
    raise_fault,
)


@dataclasses.dataclass(frozen=True)
class Situation:
    """The input of peer groups: members and rows of services."""

    view: model.View
    services: Sequence[model.Service]

    def peer_groups(
        self,
        interpret: policy_set.Interpreter,
        on_fault: OnFault = raise_fault,
    ) -> PeerGroups:
        """Build the peer groups."""
        return PeerGroups.of(self.view, self.services, interpret, on_fault)

    def without(self, hosts: Collection[str]) -> Situation:
        """Return the situation after members died.

        Their rows stay, and so do peer lists that name them.
        """
        return Situation(self.view.without(hosts), self.services)

    def joined_by(
        self, host: str, settings: model.MemberSettings
    ) -> Situation:
        """Return the situation after a member registered, as the last one.

        An existing row of the host counts: a disabled service stays disabled.
        """
        latest = max((m.joined_at for m in self.view.members), default=0.0)
        newcomer = model.Member(host, 'preview', latest + 1.0, settings)
        others = (m for m in self.view.members if m.host != host)
        rows = {row.host: row for row in self.services}
        rows[host] = dataclasses.replace(
            rows.get(host, model.Service(host)),
            fenced=False,
            incarnation=newcomer.incarnation,
        )
        return Situation(
            model.View.of((*others, newcomer)), tuple(rows.values())
        )

    def joined_like(self, host: str, like: str) -> Situation:
        """Return the situation with another member configured like ``like``.

        Peer lists that name ``like`` name the new member, too, for all members
        that advertise the list: without it the member would not even start.

        :param like: a live member.
        """
        member = self.view.get(like)
        if member is None:
            raise ValueError(f'{like} is not a member')
        old, new = member.settings, _with_peer(member.settings, like, host)

        def changed(
            host: str, settings: model.MemberSettings
        ) -> model.MemberSettings:
            if settings.shared != old.shared:
                return settings
            return dataclasses.replace(new, values=settings.values)

        return self.running(changed).joined_by(host, new)

    def running(
        self,
        changed: Callable[[str, model.MemberSettings], model.MemberSettings],
    ) -> Situation:
        """Return the situation with other settings of members.

        :param changed: returns those of a host, from its present ones.
        """
        return Situation(
            model.View.of(
                dataclasses.replace(m, settings=changed(m.host, m.settings))
                for m in self.view.members
            ),
            [
                dataclasses.replace(r, settings=changed(r.host, r.settings))
                for r in self.services
            ],
        )


def _with_peer(
    settings: model.MemberSettings, like: str, host: str
) -> model.MemberSettings:
    def extended(value: model.Value) -> model.Value:
        if isinstance(value, tuple) and like in value and host not in value:
            return tuple(sorted((*value, host)))
        return value

    return dataclasses.replace(
        settings,
        policies=tuple(
            model.PolicySettings(
                policy.name,
                tuple((n, extended(value)) for n, value in policy.options),
            )
            for policy in settings.policies
        ),
    )


class Kind(enum.StrEnum):
    """Kind of a change."""

    MOVES = 'moves'
    """The node gets another owner."""
    STRANDED = 'stranded'
    """With an instance, and its owner would be gone: not managed until an
    operator moves it."""
    UNSERVED = 'unserved'
    """Without an instance, and on record with an owner that would be gone."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeChange:
    """One node whose owner would change, or be gone.

    :param before: its owner now; ``None`` if unowned.
    """

    kind: Kind
    node: model.Node
    before: str | None
    after: str | None
    deployed: bool


@dataclasses.dataclass(frozen=True)
class Flow:
    """All nodes that would change from one owner to another.

    :param instances: number of those with an instance.
    :param share: of all nodes that were compared, 0.0 to 1.0.
    """

    before: str | None
    after: str | None
    nodes: int
    instances: int
    share: float


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference of two sets of decisions.

    :param compared: number of nodes.
    :param changes: of all kinds, in the order of the nodes.
    """

    compared: int
    changes: Sequence[NodeChange]

    def of(self, kind: Kind) -> Sequence[NodeChange]:
        """Return the changes of one kind."""
        return [one for one in self.changes if one.kind is kind]

    def flows(self) -> list[Flow]:
        """Sum the moves up by owner before and after, largest first."""
        counts: collections.Counter[tuple[str | None, str | None]] = (
            collections.Counter()
        )
        deployed = counts.copy()
        for one in self.of(Kind.MOVES):
            way = one.before, one.after
            counts[way] += 1
            deployed[way] += one.deployed
        return [
            Flow(*way, number, deployed[way], number / self.compared)
            for way, number in sorted(
                counts.items(),
                key=lambda item: (-item[1], [host or '' for host in item[0]]),
            )
        ]


def compare(
    nodes: Sequence[model.Node],
    records: Mapping[str, model.ComputeNode],
    before: PeerGroups,
    after: PeerGroups,
) -> Difference:
    """Decide twice, and return the nodes whose decisions differ.

    :param records: compute nodes by uuid; empty to compare the decisions of
        the policies alone.
    """
    now = decide.decide(nodes, records, before)
    then = decide.decide(nodes, records, after)
    lost = before.alive - after.alive
    changes = []
    for node in nodes:
        owner, other = now[node.uuid].owner, then[node.uuid].owner
        if owner == other and owner not in lost:
            continue
        record = records.get(node.uuid)
        deployed = bool(
            node.instance_uuid or (record and record.instance_uuid)
        )
        left = Kind.STRANDED if deployed else Kind.UNSERVED
        kind = left if owner == other else Kind.MOVES
        changes.append(NodeChange(kind, node, owner, other, deployed))
    return Difference(len(nodes), changes)
