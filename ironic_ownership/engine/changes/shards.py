"""Proposal of shards: what the plan is made from, and the moves to it.

Read in the order of a refresh: services, records, nodes, members. Nodes in a
shard that no service of the plan selects are left alone, and so are those that
another service owns: Ironic may serve other deployments as well.
"""

from __future__ import annotations

import collections
import dataclasses
import fractions
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import bare_metal, exceptions, model, texts
from ironic_ownership.contracts.moves import Move
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.changes import gates, shard_plan
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.selection import shard_of
from ironic_ownership.engine.decision.decide import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups, tolerant

_ALWAYS = ('conductor_group', 'driver', 'resource_class')
_MAPPINGS = ('properties', 'extra')
_PRECISION = 1000
"""The largest denominator of a weight."""


@dataclasses.dataclass(frozen=True)
class Conditions:
    """The wishes of an operator.

    :param weights: by host; any other service has the weight 1.
    :param together: fields of nodes; equal ones stay in one shard.
    :param spread: fields of nodes; equal ones go to all shards.
    :param deployed: whether nodes with an instance may move.
    :param limit: the maximum number of moves.
    """

    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    together: Sequence[str] = ()
    spread: Sequence[str] = ()
    deployed: bool = False
    limit: int | None = None

    @property
    def fields(self) -> frozenset[str]:
        """The fields that Ironic has to give in addition to the usual ones.

        :raises NotFoundError: naming one that can't be read.
        """
        wanted = set()
        for name in (*self.together, *self.spread):
            kind, _, key = name.partition('.')
            if name in _ALWAYS or (kind in _MAPPINGS and key):
                wanted.update({'extra'} & {kind})
            elif fault := bare_metal.field_fault(name):
                raise exceptions.NotFoundError(
                    f'no field {name!r} of a node: {fault}',
                    hint='Such as conductor_group, resource_class or '
                    'properties.rack',
                )
            else:
                wanted.add(name)
        return frozenset(wanted)


@dataclasses.dataclass(frozen=True)
class ShardProposal:
    """A plan of shards, and the moves by which it is carried out.

    :param hosts: the services of each shard.
    :param weights: by shard.
    :param left: the number of nodes that are left alone, by the reason.
    """

    plan: shard_plan.ShardPlan
    moves: Sequence[Proposal]
    hosts: Mapping[str, Sequence[str]]
    weights: Mapping[str, fractions.Fraction]
    left: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class _Facts:
    services: Sequence[model.Service]
    records: Mapping[str, model.ComputeNode]
    nodes: Mapping[str, model.Node]
    view: model.View
    groups: PeerGroups
    shard_of: Mapping[str, str]
    """The shard of each service of the plan."""
    hosts: Mapping[str, Sequence[str]]
    """The services of each shard."""


def propose(
    operation: MoveNodes,
    conditions: Conditions,
    order: Move,
    *,
    trial: int = 0,
) -> ShardProposal:
    """Plan the shards, and evaluate every gate of every move to it.

    :param order: what all its moves have in common.
    :param trial: number of nodes that move first, to each service.
    :raises NotFoundError: if no service selects a shard, or one is unknown.
    :raises OwnershipError: if something can't be read.
    """
    chosen = {
        model.canonical_host(host): weight
        for host, weight in conditions.weights.items()
    }
    facts, left = _read(operation, chosen)
    weights: dict[str, fractions.Fraction] = collections.defaultdict(
        fractions.Fraction
    )
    for host, shard in facts.shard_of.items():
        weight = fractions.Fraction(chosen.get(host, 1))
        weights[shard] += weight.limit_denominator(_PRECISION)
    items = list(_items(facts, conditions, left))
    found = shard_plan.plan(items, weights, conditions.limit)
    left['admitted by no shard of the plan'] += len(found.unplaceable)
    left['apart from nodes to keep them with'] += len(found.split)
    moves = _moves(facts, items, found)
    proposals = operation.evaluate_each(
        order,
        'shard plan',
        moves,
        operation.snapshot(
            facts.services,
            facts.view,
            facts.records,
            facts.nodes,
            {uuid: to for (_, to), some in moves.items() for uuid in some},
        ),
        trial,
    )
    return ShardProposal(found, proposals, facts.hosts, weights, +left)


def _read(
    operation: MoveNodes, named: Collection[str]
) -> tuple[_Facts, collections.Counter[str]]:
    ports = operation.ports
    services = ports.records.services()
    known = [row.host for row in services]
    for host in named:
        suggestions.known_service(host, known)
    records = {
        record.uuid: record
        for record in ports.records.in_reach('', model.Scope())
    }
    # A service whose policies fail takes nothing, and stops no other one.
    groups = PeerGroups.of(
        ports.backend.view(), services, ports.interpret, tolerant()
    )
    shards = {
        host: shard
        for host in {*groups.takers, *named}
        if (shard := shard_of(groups.scope(host)))
    }
    if not shards:
        raise exceptions.NotFoundError(
            'no live and enabled service selects a shard',
            hint='Add the policy shard_key to [ownership] policies of the '
            'services, and [ironic] shard_key',
        )
    if others := sorted({*named} - shards.keys()):
        raise exceptions.NotFoundError(
            f'no shard is selected by {texts.listed(others)}',
            hint='Leave its weight out, or let it select one: [ironic] '
            'shard_key',
        )
    left: collections.Counter[str] = collections.Counter()
    scopes = [model.Scope()]
    if operation.sharded():
        # Law 4: with a shard key set every list names a shard.
        scopes = [model.Scope(shard=one) for one in sorted({*shards.values()})]
        left[
            'without a shard, which only a command without [ironic] '
            'shard_key may list'
        ] = ports.ironic.shard_counts().get(None, 0)
    nodes: dict[str, model.Node] = {}
    for scope in scopes:
        nodes |= ports.ironic.fleet(scope)
    view = ports.backend.view().serving(services)
    hosts: dict[str, list[str]] = {}
    for host, shard in sorted(shards.items()):
        hosts.setdefault(shard, []).append(host)
    return _Facts(services, records, nodes, view, groups, shards, hosts), left


def _items(
    facts: _Facts, conditions: Conditions, left: collections.Counter[str]
) -> Iterable[shard_plan.PlanNode]:
    """Yield the nodes of the plan, and count the others."""
    admitting: dict[str, frozenset[str]] = {}
    for node in facts.nodes.values():
        record = facts.records.get(node.uuid)
        owner = record.host if record else None
        home = node.shard
        if owner is not None and owner not in facts.shard_of:
            left['owned by a service without a shard, or not alive'] += 1
            continue
        if home is None and owner is not None:
            home = facts.shard_of[owner]
        if home is not None and home not in facts.hosts:
            left['in a shard that no live service selects'] += 1
            continue
        recorded = record.instance_uuid if record else None
        deployed = bool(node.instance_uuid or recorded)
        stays = deployed and not conditions.deployed
        stays = stays or gates.operation_on(node) is not None
        if stays and home is None:
            left['in use, without a shard and an owner'] += 1
            continue
        group = node.conductor_group
        if group not in admitting:
            admitting[group] = frozenset(
                shard for shard in facts.hosts if _takers(facts, shard, group)
            )
        together = (_value(node, name) for name in conditions.together)
        yield shard_plan.PlanNode(
            node.uuid,
            home,
            admitting[group],
            stays,
            tuple(filter(None, together)),
            ' '.join(_value(node, name) for name in conditions.spread),
        )


def _takers(facts: _Facts, shard: str, group: str) -> list[str]:
    """Return the services of a shard whose scope has a conductor group.

    Only the live and enabled ones, unless those that are named are neither.
    """
    found = [
        host
        for host in facts.hosts[shard]
        if (policies := facts.groups.policies[host]) is not None
        and policies.scope.matches(shard, group)
    ]
    return [host for host in found if host in facts.groups.takers] or found


def _value(node: model.Node, name: str) -> str:
    kind, _, key = name.partition('.')
    value: Any
    if name in _ALWAYS:
        value = getattr(node, name)
    elif kind in _MAPPINGS and key:
        value = getattr(node, kind).get(key)
    else:
        value = node.fields.get(name)
    return '' if value in (None, '') else f'{name}={value}'


def _moves(
    facts: _Facts,
    items: Iterable[shard_plan.PlanNode],
    plan: shard_plan.ShardPlan,
) -> Mapping[tuple[str | None, str], Sequence[str]]:
    """Return uuids by shard and service, of the nodes that change.

    Those whose shard was set before, and whose record was not, are among
    them.
    """
    hosts_of: dict[str, tuple[str, str]] = {}
    several: dict[str, model.Node] = {}
    for item in items:
        node, record = facts.nodes[item.uuid], facts.records.get(item.uuid)
        owner = record.host if record else None
        shard = plan.moves.get(item.uuid, item.home)
        if shard is None or gates.operation_on(node) is not None:
            continue
        stays = owner is None or owner in facts.hosts[shard]
        if node.shard == shard and (stays or item.fixed):
            continue
        takers = _takers(facts, shard, node.conductor_group)
        if owner in takers or not takers:
            takers = [owner or facts.hosts[shard][0]]
        if len(takers) > 1:
            several[item.uuid] = dataclasses.replace(node, shard=shard)
        hosts_of[item.uuid] = shard, takers[0]
    # The assigner of a shard with several services chooses.
    assigned = decide(several.values(), {}, facts.groups)
    moves: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for uuid, (shard, host) in hosts_of.items():
        owner = assigned[uuid].owner if uuid in several else None
        taker = owner if owner in facts.groups.takers else host
        moves[shard, taker].append(uuid)
    return {to: sorted(some) for to, some in moves.items()}
