"""``/v1/rings``: services that share nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Answer, Operation, Request
from ironic_ownership.api.resources.services import options, policies
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import (
    PeerGroups,
    assigner_name,
    tolerant,
)
from ironic_ownership.engine.queries import balance
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column, Columns


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
    context = request.context
    records = context.records
    found = PeerGroups.of(
        context.backend.view(),
        records.services(),
        context.interpret,
        tolerant(),
    )
    owned = {host: nodes for host, (nodes, _) in records.counts().items()}
    return request.page(
        'peers',
        _peers(found, owned, context.interpret),
        lambda peer: f'{peer.ring:06d}/{peer.host}',
        LONG,
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
                assigner=assigner_name(group.settings, interpret),
                nodes=nodes,
                share=nodes / total if total else None,
                of_mean=spread.of_mean(host),
                settings=group.settings,
                peers=hosts,
            )
