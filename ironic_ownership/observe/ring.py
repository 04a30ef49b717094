"""Columns of the peers of a ring."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns, service


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


_Column = columns.Column[Peer]

SHORT = (
    _Column('ring', lambda p: p.ring),
    _Column('host', lambda p: p.host),
    _Column('live', lambda p: p.live),
    _Column('assigner', lambda p: p.assigner),
    _Column('nodes', lambda p: p.nodes),
    _Column('share', lambda p: columns.rounded(p.share)),
    _Column('of_mean', lambda p: columns.rounded(p.of_mean)),
)

LONG = (
    *SHORT,
    _Column('peers', lambda p: list(p.peers)),
    _Column('policies', lambda p: service.policies(p.settings)),
    _Column('settings', lambda p: service.options(p.settings)),
)
