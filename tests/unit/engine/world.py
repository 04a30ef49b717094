"""Nodes, services and policies in few words, for the tests of the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model, policy
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import (
    OnFault,
    PeerGroups,
    raise_fault,
)
from ironic_ownership.engine.queries.deployment import Deployment
from ironic_ownership.policies import filters, peer_list, reservation


class PickyPolicy(policy.FilterPolicy):
    """Admits nodes by their driver: a filter that Ironic can't help with."""

    contract_version = 1

    def admits(self, node: model.Node) -> bool:
        return node.driver == self._settings['driver']


class OddPolicy(policy.AssignerPolicy):
    """An assigner that does not rebalance; even nodes stay unowned."""

    contract_version = 1

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        return [hosts[-1] if int(n.uuid[-1], 16) % 2 else None for n in nodes]


class SeatingPolicy(policy.AssignerPolicy):
    """An assigner whose answer for a node depends on the others."""

    contract_version = 1

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        places = sorted(node.uuid for node in nodes)
        return [hosts[places.index(n.uuid) % len(hosts)] for n in nodes]


class FailingPolicy(policy.FilterPolicy):
    """Fails for each node, and where asked to also for its scope."""

    contract_version = 1

    def scope(self) -> model.Scope:
        if self._settings['fails'] == 'scope':
            raise LookupError('a bad mood')
        return super().scope()

    def admits(self, node: model.Node) -> bool:
        raise LookupError('a bad mood')


class NoPeersPolicy(policy.AssignerPolicy):
    """An assigner that fails when it has to name its peers."""

    contract_version = 1

    def peers(
        self, host: str, candidates: Sequence[str], scope: model.Scope
    ) -> frozenset[str]:
        raise ValueError('no peers')

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        raise ValueError('no owners')


CLASSES: dict[str, type[policy.Policy]] = {
    'all': filters.AllNodesPolicy,
    'conductor_group': filters.ConductorGroupPolicy,
    'shard_key': filters.ShardKeyPolicy,
    'peer_list': peer_list.PeerListPolicy,
    'reservation': reservation.ReservationPolicy,
    'picky': PickyPolicy,
    'odd': OddPolicy,
    'seating': SeatingPolicy,
    'fails': FailingPolicy,
    'no_peers': NoPeersPolicy,
}


def interpret(
    advertised: model.MemberSettings,
    classes: Mapping[str, type[policy.Policy]] = CLASSES,
) -> policy_set.PolicySet | None:
    """Read settings as the wiring does, from our own list of policies."""
    names = {p.name for p in advertised.policies}
    if advertised.contract_version not in (1, 2) or names - classes.keys():
        return None
    return policy_set.PolicySet.of(
        classes[p.name](dict(p.options)) for p in advertised.policies
    )


def runs(**policies: Any) -> model.MemberSettings:
    """Return the settings of a service that runs these policies.

    ``runs(all=None)``, ``runs(shard_key='a', peer_list=())``: each policy
    with the value of its one option.
    """
    options = {'picky': 'driver'}
    return model.MemberSettings(
        tuple(
            model.PolicySettings.of(
                name, {} if value is None else {options.get(name, name): value}
            )
            for name, value in policies.items()
        )
    )


def advertised(
    settings: model.MemberSettings, member_ttl: float, *common: str
) -> model.MemberSettings:
    """Return settings as a process of this release advertises them."""
    process = model.ProcessInfo('m', 1, '1', member_ttl, common)
    return dataclasses.replace(settings, process=process)


ALL = runs(all=None)
RING = runs(peer_list=())
RESERVING = runs(reservation=None)
NEWER = model.MemberSettings(ALL.policies, contract_version=99)
UNKNOWN = runs(of_another_site=None)


def uuid(number: int) -> str:
    """Return the uuid of a node, as the golden vectors number them."""
    return f'00000000-0000-0000-0000-{number:012d}'


def node(number: int, **values: Any) -> model.Node:
    """Return a node."""
    return model.Node(uuid(number), **values)


def record(
    number: int, host: str | None, instance: str | None = None, **values: Any
) -> model.ComputeNode:
    """Return the record of a node."""
    return model.ComputeNode(uuid(number), host, instance, **values)


def member(
    host: str, settings: model.MemberSettings = ALL, joined_at: float = 0.0
) -> model.Member:
    """Return a live member."""
    return model.Member(host, f'incarnation of {host}', joined_at, settings)


def members(settings: model.MemberSettings, *hosts: str) -> list[model.Member]:
    """Return live members with the same settings, joined in this order."""
    return [
        member(host, settings, float(place))
        for place, host in enumerate(hosts)
    ]


def assemble(
    alive: Iterable[model.Member],
    services: Iterable[model.Service] = (),
    classes: Mapping[str, type[policy.Policy]] = CLASSES,
    on_fault: OnFault = raise_fault,
) -> PeerGroups:
    """Build the peer groups of a moment.

    :param services: rows; a member without one is registered.
    """
    return PeerGroups.of(
        model.View.of(alive := list(alive)),
        registered(alive, services),
        lambda text: interpret(text, classes),
        on_fault,
    )


def deployment(
    alive: Iterable[model.Member],
    services: Iterable[model.Service] = (),
    records: Iterable[model.ComputeNode] = (),
    nodes: Iterable[model.Node] = (),
    **more: Any,
) -> Deployment:
    """Build the deployment of a moment.

    :param services: rows; a member without one is registered.
    """
    rows = registered(alive := list(alive), services)
    return Deployment(
        interpret,
        {row.host: row for row in rows},
        model.View.of(alive),
        {record.uuid: record for record in records},
        {node.uuid: node for node in nodes},
        **more,
    )


def registered(
    alive: Iterable[model.Member], services: Iterable[model.Service] = ()
) -> list[model.Service]:
    """Return the rows, and one for each member that has none."""
    rows = list(services)
    known = {row.host for row in rows}
    return rows + [
        model.Service(one.host, settings=one.settings)
        for one in alive
        if one.host not in known
    ]
