"""Explanation of one decision: inputs, members, policies and record.

Every known service is a candidate, including those that cannot own nodes: most
questions are about why a service does not own a node.

It follows from what all processes share, without the local configuration, so
that it is the same on every machine. Law 6. The node is asked for by its uuid,
without any filter, because it may have left the scope of its owner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.reasons import Decision
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroup,
    PeerGroups,
    assigner_name,
    is_registered,
    tolerant,
    why_unreadable,
)
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries.deployment import (
    Deployment,
    NodeStatus,
    conductors_of,
    read_services,
)

AWAY = 'was stopped and is expected back'


@dataclasses.dataclass(frozen=True)
class PolicyResult:
    """Result of one policy of a service for the node.

    :param policy: its name, and the options that peers have in common.
    :param values: what it advertises for this service alone.
    :param admits: ``None`` for an assigner, and if it is not known.
    """

    policy: model.PolicySettings
    values: model.PolicySettings
    admits: bool | None
    detail: str


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One service, and why it is considered or is not.

    :param admits: whether its policies admit the node; ``None`` if that is
        not known.
    :param scope: the server-side filter of its policies, if that is known.
    :param considered: whether it takes part in the decision.
    :param absence: why it takes no part in any decision, if that is so.
    :param unreadable: why its settings can't be read here, if they can't.
    """

    host: str
    alive: bool
    absence: str
    disabled: bool
    forced_down: bool
    unreadable: str
    results: tuple[PolicyResult, ...]
    admits: bool | None
    scope: model.Scope | None
    considered: bool

    @property
    def readable(self) -> bool:
        """True if its settings can be read here."""
        return not self.unreadable

    @property
    def eligible(self) -> bool:
        """True if it could own nodes, regardless of its policies."""
        return (
            self.alive
            and self.readable
            and not self.disabled
            and not self.forced_down
        )

    @property
    def why(self) -> str:
        """The reason why it is considered, or is not, in words."""
        faults = [self.absence] if self.absence else []
        if self.forced_down:
            faults.append('is forced down')
        if self.disabled:
            faults.append('is disabled')
        if self.unreadable:
            faults.append(
                f'advertises settings unreadable here: {self.unreadable}'
            )
        if self.admits is False:
            refusals = [r.detail for r in self.results if r.admits is False]
            faults.append(f'does not admit the node: {"; ".join(refusals)}')
        if faults:
            return texts.phrase(faults, 'and')
        return 'admits the node' if self.admits else 'is alive and enabled'


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The chain from the inputs to the decision.

    :param preferred: the decision of the policies alone, without record and
        instance.
    :param assigner: name of the policy that chose among several, if any.
    :param peers: hosts among which it would choose, alive or not.
    :param live_peers: those among which it chose.
    :param owner: the row of the service on record.
    :param paused: whether a pause keeps the node with its owner.
    """

    status: NodeStatus
    candidates: tuple[Candidate, ...]
    preferred: Decision | None
    assigner: str | None
    peers: tuple[str, ...]
    live_peers: tuple[str, ...]
    owner: model.Service | None
    paused: bool

    @property
    def decision(self) -> Decision:
        """The decision."""
        return self.status.decision

    def is_live(self, host: str | None) -> bool:
        """Tell whether a service is alive, not only expected back."""
        return any(c.alive for c in self.candidates if c.host == host)

    @property
    def preferred_owner(self) -> str | None:
        """The service that the policies alone would choose."""
        return self.preferred.owner if self.preferred else None


def explain_node(
    ports: Ports, uuid: str, sharded: Callable[[], bool] = lambda: False
) -> Explanation | None:
    """Explain the decision for one compute node.

    Other nodes are listed only if they are decided together with it.

    :param sharded: tells whether nodes may be listed by shard only (law 4);
        called only if there is anything to list.
    :returns: ``None`` if neither Ironic nor the records have it.
    :raises OwnershipError: if anything can't be read.
    """
    policy_set.prepare(ports.records.services(), ports.interpret)
    records = _records(ports, [uuid])
    node = ports.ironic.get(uuid)
    seen = Deployment(
        ports.interpret,
        *read_services(ports),
        records,
        pauses=ports.records.pauses(),
        on_fault=tolerant(),
    )
    if node is None:
        return explain(uuid, seen) if records else None
    nodes = {uuid: node}
    group = _deciding(node, seen.peer_groups)
    if group is not None and not group.policies.node_by_node:
        policies = group.policies
        if policies.scope.shard is None and sharded():
            raise exceptions.OwnershipError(
                f'node {uuid} is decided together with other nodes, which '
                'may not be listed with a shard key set',
                hint='Use a configuration without shard_key',
            )
        found = ports.ironic.scan(policies.scope)
        nodes = {one.uuid: one for one in found} | nodes
        if policies.reads_owners:
            records = _records(ports, nodes) | records
    seen = dataclasses.replace(
        seen,
        nodes=nodes,
        records=records,
        conductors=conductors_of(ports.ironic),
    )
    return explain(uuid, seen)


def _records(
    ports: Ports, uuids: Collection[str]
) -> dict[str, model.ComputeNode]:
    found = ports.records.compute_nodes_by_uuid(uuids)
    return {one.uuid: one for one in found}


def explain(uuid: str, deployment: Deployment) -> Explanation:
    """Explain who owns a node, and why.

    :param deployment: with the node, unless Ironic answers 404, with its
        record, if there is one, and with all nodes that are decided
        together with it, and their records if the assigner reads owners.
    """
    groups, node = deployment.peer_groups, deployment.nodes.get(uuid)
    group = preferred = None
    if node is not None:
        group = _deciding(node, groups)
        free = dataclasses.replace(node, instance_uuid=None)
        owners = {one.uuid: one.host for one in deployment.records.values()}
        alone = {**deployment.nodes, uuid: free}.values()
        preferred = decide.decide(alone, {}, groups, owners)[uuid]
    (status,) = deployment.statuses([uuid])
    return Explanation(
        status=status,
        candidates=tuple(
            _candidate(host, node, deployment)
            for host in sorted(
                deployment.services.keys() | deployment.view.hosts
            )
        ),
        preferred=preferred,
        assigner=(
            assigner_name(group.settings, deployment.interpret)
            if group
            else None
        ),
        peers=tuple(sorted(group.peers)) if group else (),
        live_peers=group.hosts if group else (),
        owner=deployment.services.get(status.owner or ''),
        paused=any(one.covers(*status.place) for one in deployment.pauses),
    )


def _deciding(node: model.Node, peer_groups: PeerGroups) -> PeerGroup | None:
    """Return the peer group that decides the node.

    None if several admit it, or may admit it, because their policies fail.
    """
    found = []
    for group in peer_groups.groups:
        admits = peer_groups.admits(group.hosts[0], node)
        if admits is None or group.fails:
            place = node.shard, node.conductor_group
            if group.policies.may_admit(*place, node):
                return None
        elif admits:
            found.append(group)
    return found[0] if len(found) == 1 else None


def _candidate(
    host: str, node: model.Node | None, deployment: Deployment
) -> Candidate:
    row = deployment.services.get(host, model.Service(host))
    member = deployment.view.get(host)
    settings = member.settings if member else row.settings
    unreadable = ''
    if member is not None or not row.never_registered:
        unreadable = why_unreadable(settings, deployment.interpret)
    values = {one.name: one for one in settings.values}
    results = tuple(
        PolicyResult(
            policy,
            values.get(policy.name, model.PolicySettings(policy.name)),
            *_result(policy, node, deployment.interpret, unreadable),
        )
        for policy in settings.policies
    )
    groups = deployment.peer_groups
    admits = groups.admits(host, node) if node else None
    return Candidate(
        host=host,
        alive=member is not None or row.is_stock,
        absence=_absence(row, member, deployment),
        disabled=row.disabled,
        forced_down=row.forced_down,
        unreadable=unreadable,
        results=results,
        admits=admits,
        scope=groups.scope(host),
        considered=bool(groups.group_of.get(host) and admits),
    )


def _absence(
    row: model.Service, member: model.Member | None, deployment: Deployment
) -> str:
    if member is None:
        if row.is_stock:
            return 'runs stock Nova'
        return AWAY if row.away else 'is not alive'
    if is_registered(member, deployment.services) or row.forced_down:
        return ''
    return 'is not registered yet'


def _result(
    policy: model.PolicySettings,
    node: model.Node | None,
    interpret: policy_set.Interpreter,
    unreadable: str,
) -> tuple[bool | None, str]:
    """Return whether a policy admits the node, and why."""
    alone = None
    if not unreadable:
        alone = interpret(model.MemberSettings((policy,)))
    if alone is None:
        return None, 'not readable here'
    if alone.assigner is not None:
        return None, 'assigns among its peers'
    if node is None:
        return None, 'skipped: Ironic has no such node'
    try:
        admits = alone.admits(node)
    except exceptions.PluginFaultError as exc:
        return None, str(exc)
    return admits, _detail(alone.scope, node, admits)


def wanted(
    scope: model.Scope, node: model.Node
) -> list[tuple[str, str, str | None]]:
    """Return what a scope wants of a node's place: name, wanted and actual."""
    return [
        (what, wants, has)
        for what, wants, has in (
            ('shard', scope.shard, node.shard),
            ('conductor group', scope.conductor_group, node.conductor_group),
        )
        if wants is not None
    ]


def _detail(scope: model.Scope, node: model.Node, admits: bool) -> str:
    if admits:
        filters = [
            f'{what} {wants!r}' for what, wants, _ in wanted(scope, node)
        ]
        return f'admits {" and ".join(filters) or "it"}'
    differing = [
        f'wants {what} {wants!r}, the node has '
        + ('none' if has is None else repr(has))
        + (
            ' (only the case differs)'
            if has is not None and has.casefold() == wants.casefold()
            else ''
        )
        for what, wants, has in wanted(scope, node)
        if wants != has
    ]
    return ', '.join(differing) or 'does not admit it'
