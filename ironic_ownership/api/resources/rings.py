"""``/v1/rings``: services that share nodes, now and in a scenario."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import PAGE, Access, Operation, Parameter
from ironic_ownership.api.request import Answer, Request
from ironic_ownership.api.resources import comparison
from ironic_ownership.api.resources.services import options, policies
from ironic_ownership.contracts import model, refusals
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision import policy_set, scenario
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups
from ironic_ownership.engine.decision.settings_diff import assigner
from ironic_ownership.engine.queries import balance, node_status
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns, cells


@dataclasses.dataclass(frozen=True)
class Peer:
    """One service in its ring.

    :param ring: number of the ring, from 1; for this output only.
    :param live: whether it is alive and enabled, with these settings.
    :param assigner: the policy that chooses among the peers.
    :param nodes: number of compute nodes that it owns.
    :param share: of the ring's nodes, 0.0 to 1.0.
    :param of_mean: relative to the mean of the live peers.
    """

    ring: int
    host: str
    live: bool
    assigner: str | None
    nodes: int
    share: float | None
    of_mean: float | None
    settings: model.MemberSettings
    peers: Sequence[str]


SHORT: Columns[Peer] = (
    Column('ring', type={'type': 'integer', 'minimum': 1}),
    Column('host'),
    Column('live', type=schemas.FLAG),
    Column('assigner', type=schemas.TEXT_OR_NULL),
    Column('nodes', type=schemas.NUMBER),
    Column(
        'share',
        lambda p: columns.rounded(p.share),
        {'type': ['number', 'null'], 'minimum': 0},
    ),
    Column('of_mean', lambda p: columns.rounded(p.of_mean), schemas.OF_MEAN),
)
LONG: Columns[Peer] = (
    *SHORT,
    Column('peers', lambda p: list(p.peers), schemas.TEXTS),
    Column('policies', lambda p: policies(p.settings), schemas.TEXTS),
    Column('settings', lambda p: options(p.settings), schemas.THING),
)
_HOSTS = {'type': 'array', 'items': schemas.HOST, 'minItems': 1}


def _show(request: Request) -> Answer:
    context = request.context
    records = context.records
    found = PeerGroups.of(
        context.backend.view(),
        records.services(),
        context.interpret,
        node_status.tolerant(),
    )
    owned = {host: nodes for host, (nodes, _) in records.counts().items()}
    return request.page(
        'peers',
        _peers(found, owned, context.interpret),
        lambda peer: f'{peer.ring:06d}/{peer.host}',
        lambda peer: cells(LONG, peer),
    )


def _peers(
    found: PeerGroups,
    owned: Mapping[str | None, int],
    interpret: policy_set.Interpreter,
) -> Iterator[Peer]:
    for number, group in enumerate(found.groups, start=1):
        hosts = sorted(group.peers)
        spread = balance.spread(group, owned)
        total = sum(owned.get(host, 0) for host in hosts)
        for host in hosts:
            nodes = owned.get(host, 0)
            yield Peer(
                ring=number,
                host=host,
                live=host in group.hosts,
                assigner=assigner(group.settings, interpret),
                nodes=nodes,
                share=nodes / total if total else None,
                of_mean=spread.of_mean(host),
                settings=group.settings,
                peers=hosts,
            )


def _preview(request: Request) -> Answer:
    query = request.query
    gone = [model.canonical_host(host) for host in query.get('without', ())]
    new = [model.canonical_host(host) for host in query.get('with', ())]
    like = query.get('like')
    _check_scenario(gone, new, like)
    seen = comparison.read(request)
    before = scenario.Situation(seen.view or model.View(), seen.services or ())
    for host in gone:
        if host not in before.view.hosts:
            raise suggestions.unknown('member', host, before.view.hosts)
    after = before
    for host in new:
        after = _joined(before, after, host, like, request.context.interpret)
    rows = {row.host: row for row in before.services}
    return comparison.answer(
        request,
        seen,
        seen.records or {},
        before,
        scenario.without(after, gone),
        nodes=query.get('nodes', False),
        notes=[
            f'{host} is disabled or forced down and would own nothing'
            for host in new
            if host in rows and (rows[host].disabled or rows[host].forced_down)
        ],
    )


def _check_scenario(
    gone: Collection[str], new: Collection[str], like: str | None
) -> None:
    if not gone and not new:
        raise refusals.ScenarioError('nothing to preview')
    if like is not None and not new:
        raise refusals.ScenarioError('"like" needs "with"')
    for host in sorted({*gone} & {*new}):
        raise refusals.ScenarioError(f'{host} cannot both leave and join')


def _joined(
    before: scenario.Situation,
    so_far: scenario.Situation,
    host: str,
    like: str | None,
    interpret: policy_set.Interpreter,
) -> scenario.Situation:
    if host in before.view.hosts:
        raise refusals.ScenarioError(
            f'{host} is a member already',
            hint='"ironic-ownership member list" shows all',
        )
    row = {row.host: row for row in before.services}.get(host)
    if like is not None:
        like = model.canonical_host(like)
        if like not in before.view.hosts:
            raise suggestions.unknown('member', like, before.view.hosts)
    elif row is not None and row.settings.policies:
        return scenario.joined_by(so_far, host, row.settings)
    else:
        like = _only_ring(before.peer_groups(interpret).groups)
    return scenario.joined_like(so_far, host, like)


def _only_ring(groups: Sequence[PeerGroup]) -> str:
    rings = [g for g in groups if g.policies.assigner is not None] or groups
    if len(rings) == 1:
        return rings[0].hosts[0]
    if not rings:
        raise refusals.ScenarioError(
            'there is no ring: no live, enabled member'
        )
    firsts = sorted(group.hosts[0] for group in rings)
    raise refusals.ScenarioError(
        f'there are {len(rings)} rings, which one is meant?',
        hint=f'Name a member of it with --like: {", ".join(firsts)}',
    )


OPERATIONS = (
    Operation(
        'ring:show',
        'GET',
        '/v1/rings',
        'Show the peer groups: services that share nodes, and their shares.',
        _show,
        Access.READ,
        schemas.pages('A page of the services in all rings.', 'peers', LONG),
        description='From the records and the members only.',
        query=PAGE,
        errors=(503,),
        columns=LONG,
        short=SHORT,
    ),
    Operation(
        'ring:preview',
        'GET',
        '/v1/rings/preview',
        'Show which nodes would move if members left or joined.',
        _preview,
        Access.READ,
        {200: ('Flows of nodes between services.', comparison.SCHEMA)},
        description='Nothing is changed. A node with an instance stays with '
        'its service.',
        query=(
            Parameter(
                'without',
                'As if these members died; may be repeated, case does not '
                'count.',
                _HOSTS,
                metavar='HOST',
            ),
            Parameter(
                'with',
                'As if these services joined; may be repeated, case does not '
                'count.',
                _HOSTS,
                metavar='HOST',
            ),
            Parameter(
                'like',
                'The live member whose settings a new one has; needed if '
                'there are several rings.',
                schemas.HOST,
                metavar='HOST',
            ),
            Parameter('nodes', 'Also list each node.', schemas.FLAG),
        ),
        errors=(404, 409, 502, 503),
    ),
)
