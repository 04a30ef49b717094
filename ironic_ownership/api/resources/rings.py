"""``/v1/rings``: services that share nodes, and what would change owner."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from ironic_ownership.api import policy_options, schemas
from ironic_ownership.api.operation import Access, Answer, Operation, Request
from ironic_ownership.api.resources.services import advertised
from ironic_ownership.api.schemas import Column, Columns, cells
from ironic_ownership.contracts import model, refusals, texts
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroup,
    PeerGroups,
    assigner_name,
    raise_fault,
    tolerant,
)
from ironic_ownership.engine.decision.what_if import (
    Difference,
    Flow,
    Kind,
    NodeChange,
    Situation,
    compare,
)
from ironic_ownership.engine.queries import balance
from ironic_ownership.engine.queries.deployment import Deployment


@dataclasses.dataclass(frozen=True)
class Peer:
    """One service in its ring.

    :param ring: number of the ring, from 1; for this output only.
    :param group: all peers of the ring.
    :param assigner: the policy that chooses among the peers.
    :param total: nodes of all peers.
    """

    ring: int
    host: str
    group: PeerGroup
    assigner: str | None
    spread: balance.Spread
    nodes: int
    total: int


SHORT: Columns[Peer] = (
    Column('ring', type={'type': 'integer', 'minimum': 1}),
    Column('host'),
    Column('live', lambda p: p.host in p.group.hosts, schemas.FLAG),
    Column('assigner', type=schemas.TEXT_OR_NULL),
    Column('nodes', type=schemas.NUMBER),
    Column(
        'share',
        lambda p: schemas.rounded(p.nodes / p.total) if p.total else None,
        {'type': ['number', 'null'], 'minimum': 0},
    ),
    Column(
        'of_mean',
        lambda p: schemas.rounded(p.spread.of_mean(p.host)),
        schemas.OF_MEAN,
    ),
)
LONG: Columns[Peer] = (
    *SHORT,
    Column('peers', lambda p: sorted(p.group.peers), schemas.TEXTS),
    *advertised('group.settings')[:2],
)


@Operation(
    'ring:show',
    'GET /v1/rings',
    schemas.pages('A page of the services in all rings.', 'peers', LONG),
    query=schemas.PAGE,
    errors=(503,),
    short=SHORT,
)
def _show(request: Request) -> Answer:
    """Show the peer groups: services that share nodes, and their shares.

    From the records and the members only.
    """
    records, interpret = request.context.records, request.context.interpret
    view = request.context.backend.view()
    found = PeerGroups.of(view, records.services(), interpret, tolerant())
    owned = {host: nodes for host, (nodes, _) in records.counts().items()}
    return request.page(
        _peers(found, owned, interpret),
        lambda peer: f'{peer.ring:06d}/{peer.host}',
    )


def _peers(
    found: PeerGroups,
    owned: Mapping[str | None, int],
    interpret: policy_set.Interpreter,
) -> Iterator[Peer]:
    for ring, group in enumerate(found.groups, start=1):
        assigner = assigner_name(group.settings, interpret)
        spread = balance.spread(found, group, owned)
        nodes = {host: owned.get(host, 0) for host in sorted(group.peers)}
        total = sum(nodes.values())
        for host, number in nodes.items():
            yield Peer(ring, host, group, assigner, spread, number, total)


FLOW: Columns[Flow] = (
    Column('from_service', 'before', schemas.TEXT_OR_NULL),
    Column('to_service', 'after', schemas.TEXT_OR_NULL),
    Column('nodes', type=schemas.NUMBER),
    Column('instances', type=schemas.NUMBER),
    Column('share', lambda f: schemas.rounded(f.share), {'type': 'number'}),
)
"""Nodes that would move, by service before and after."""

NODE: Columns[NodeChange] = (
    Column('uuid', 'node.uuid'),
    Column('name', 'node.name', schemas.TEXT_OR_NULL),
    Column('change', 'kind.value', schemas.one_of(*Kind)),
    Column('from_service', 'before', schemas.TEXT_OR_NULL),
    Column('to_service', 'after', schemas.TEXT_OR_NULL),
    Column('instance', 'deployed', schemas.FLAG),
    Column('shard', 'node.shard', schemas.TEXT_OR_NULL),
    Column('conductor_group', 'node.conductor_group'),
)


def _share(found: Difference) -> float | None:
    return schemas.rounded(len(found.of(Kind.MOVES)) / (found.compared or 1))


DIFFERENCE: Columns[Difference] = (
    Column('nodes', 'compared', schemas.NUMBER, 'Number of compared nodes.'),
    Column('moves', lambda d: len(d.of(Kind.MOVES)), schemas.NUMBER),
    Column('share', _share, {'type': 'number'}),
    Column(
        'instances',
        lambda d: sum(one.deployed for one in d.of(Kind.MOVES)),
        schemas.NUMBER,
    ),
    Column('stranded', lambda d: len(d.of(Kind.STRANDED)), schemas.NUMBER),
    Column('unserved', lambda d: len(d.of(Kind.UNSERVED)), schemas.NUMBER),
    Column(
        'flows',
        lambda d: [cells(FLOW, flow) for flow in d.flows()],
        schemas.array(schemas.thing(FLOW)),
    ),
)
_CHANGES = schemas.array(
    schemas.thing(NODE),
    description='Each node; only if the request has "nodes".',
)
_WHOLE = schemas.thing(
    DIFFERENCE, warnings=schemas.WARNINGS, notes=schemas.NOTES
)
_ANSWERS = {
    200: (
        'Flows of nodes between services.',
        schemas.body(
            {**_WHOLE['properties'], 'changes': _CHANGES}, _WHOLE['required']
        ),
    )
}
_HOSTS = {'type': 'array', 'items': schemas.HOST, 'minItems': 1}
_POLICIES = {'type': 'string', 'maxLength': 1000}
_BODY = schemas.body(
    {
        'a': schemas.described(
            _POLICIES, 'A list of policies, separated by commas.'
        ),
        'b': schemas.described(_POLICIES, 'The list to compare it with.'),
        'options': schemas.array(
            {'type': 'string', 'maxLength': 1000},
            maxItems=100,
            description='Options of these policies, each as '
            '[HOST:][POLICY.]NAME=VALUE.',
        ),
        'nodes': schemas.described(schemas.FLAG, 'Also list each node.'),
    },
    ['a', 'b'],
)


def _seen(request: Request) -> tuple[Deployment, Situation]:
    """Read the whole deployment.

    :raises OwnershipError: if any of it can't be read.
    """
    seen = request.context.overview(complete=False)
    seen.require()
    return seen, Situation(seen.view, [*seen.services.values()])


@Operation(
    'ring:preview',
    'GET /v1/rings/preview',
    _ANSWERS,
    query=(
        schemas.Parameter(
            'without',
            'As if these members died (case-insensitive); may be repeated.',
            _HOSTS,
            metavar='HOST',
        ),
        schemas.Parameter(
            'with',
            'As if these services joined (case-insensitive); may be repeated.',
            _HOSTS,
            metavar='HOST',
        ),
        schemas.host(
            'like',
            'The live member whose settings a new one has; needed if '
            'there are several rings.',
        ),
        schemas.Parameter('nodes', 'Also list each node.', schemas.FLAG),
    ),
    errors=(404, 409, 502, 503),
)
def _preview(request: Request) -> Answer:
    """Show which nodes would move if members left or joined.

    Nothing is changed. A node with an instance stays with its service.
    """
    query = request.query
    gone = [model.canonical_host(host) for host in query.get('without', ())]
    new = [model.canonical_host(host) for host in query.get('with', ())]
    like = query.get('like')
    _check_scenario(gone, new, like)
    seen, before = _seen(request)
    for host in query.get('without', ()):
        suggestions.known_service(host, before.view.hosts, 'member')
    after = before
    for host in new:
        after = _joined(before, after, host, like, request.context.interpret)
    rows = {row.host: row for row in before.services}
    return _answer(
        request,
        seen,
        seen.records,
        (before, after.without(gone)),
        tolerates=True,
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
    before: Situation,
    so_far: Situation,
    host: str,
    like: str | None,
    interpret: policy_set.Interpreter,
) -> Situation:
    if host in before.view.hosts:
        raise refusals.ScenarioError(
            f'{host} is a member already',
            hint='"ironic-ownership member list" shows all',
        )
    row = {row.host: row for row in before.services}.get(host)
    if like is not None:
        like = suggestions.known_service(like, before.view.hosts, 'member')
    elif row is not None and row.settings.policies:
        return so_far.joined_by(host, row.settings)
    else:
        like = _only_ring(before.peer_groups(interpret, tolerant()).groups)
    return so_far.joined_like(host, like)


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


@Operation(
    'policy:compare',
    'POST /v1/policies/compare',
    _ANSWERS,
    allowed_to=Access.READ,
    body=_BODY,
)
def _compare(request: Request) -> Answer:
    """Show which nodes two lists of policies would assign differently.

    Nothing is changed. The policies have to be installed where the service
    runs. Records and instances do not count.
    """
    body = request.body
    given = [policy_options.option(text) for text in body.get('options', ())]
    may_import = request.context.may_import
    lists = [
        policy_options.policies(body[name], may_import) for name in ('a', 'b')
    ]
    seen, now = _seen(request)
    policy_options.check_options(
        given, {**lists[0], **lists[1]}, now.view.hosts
    )
    before, after = (
        now.running(
            {
                member.host: policy_options.settings(member, classes, given)
                for member in now.view.members
            }.get
        )
        for classes in lists
    )
    return _answer(request, seen, {}, (before, after))


def _answer(
    request: Request,
    seen: Deployment,
    records: Mapping[str, model.ComputeNode],
    situations: tuple[Situation, Situation],
    *,
    tolerates: bool = False,
    notes: Sequence[str] = (),
) -> Answer:
    """Answer with the nodes that would change owner.

    :param situations: before and after.
    :param tolerates: warn of policies that fail, and go on without them.
    """
    interpret = request.context.interpret
    faults: list[str] = []
    on_fault = tolerant(faults.append) if tolerates else raise_fault
    found = compare(
        [*seen.nodes.values()],
        records,
        *(one.peer_groups(interpret, on_fault) for one in situations),
    )
    warning = (
        f'{texts.counted(seen.unlisted, "node")} without a shard left out: '
        'such nodes may not be listed with a shard key set'
    )
    body = cells(DIFFERENCE, found)
    if (request.body or request.query).get('nodes'):
        body['changes'] = changes(found)
    body['warnings'] = [warning, *faults] if seen.unlisted else faults
    body['notes'] = list(notes)
    return Answer(body)


def changes(found: Difference) -> list[dict[str, schemas.Cell]]:
    """Return each node that would change, in the order of the kinds."""
    return [cells(NODE, one) for kind in Kind for one in found.of(kind)]
