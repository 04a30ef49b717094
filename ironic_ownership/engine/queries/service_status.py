"""How the services stand: row, membership, and what each of them owns.

Says what it can while the membership does not answer. Ironic is asked only
for what :func:`weigh` adds.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.queries import balance, deployment_snapshot

UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Standing:
    """One service: its row, its membership and what it owns.

    :param row: its record; epoch 0 if it has joined and not registered.
    :param member: the member of that host, if the view has one: the active
        process, or, while there is none, one that stands by.
    :param view_known: whether the membership backend answered.
    :param nodes: number of compute nodes that it owns.
    :param instances: number of those with an instance.
    :param unavailable: number of those that could not be given to anybody
        now; ``None`` if Ironic was not asked or did not answer.
    :param of_mean: its nodes against the mean of the services that it is
        compared with, 1.0 being the mean; ``None`` if there are none.
    :param standbys: number of its processes that stand by.
    """

    row: model.Service
    member: model.Member | None
    view_known: bool
    nodes: int = 0
    instances: int = 0
    unavailable: int | None = None
    of_mean: float | None = None
    standbys: int = 0

    @property
    def alive(self) -> str:
        """Whether the membership sees the service.

        ``up``; ``standby`` while only processes that are not active are
        alive; ``away`` if it is down and expected back; ``down``, or
        ``unknown``.
        """
        if not self.view_known:
            return UNKNOWN
        if self.member is None:
            return 'away' if self.row.away else 'down'
        active = self.row.incarnation in (None, self.member.incarnation)
        return 'up' if active else 'standby'

    @property
    def settings(self) -> model.MemberSettings:
        """What the service advertises, or last did."""
        return self.member.settings if self.member else self.row.settings


@dataclasses.dataclass(frozen=True)
class Found:
    """All services, by host, and what about them is not known.

    :param doubts: one sentence for each thing that could not be read.
    """

    standings: Sequence[Standing]
    doubts: tuple[str, ...] = ()


def take(records: Records, source: backend.MembershipBackend) -> Found:
    """Return every service that has a row or is a member.

    :raises RecordsError: if the records do not answer.
    """
    rows = {row.host: row for row in records.services()}
    counts = records.counts()
    view, doubts = None, []
    try:
        view = source.view()
    except exceptions.MembershipError as exc:
        doubts.append(f'who is alive is unknown: {exc}')
    seen = view.serving(rows.values()) if view else model.View()
    members = {m.host: m for m in seen.members}
    standbys = collections.Counter(m.host for m in seen.standbys)
    found = [
        Standing(
            rows.get(host, model.Service(host)),
            members.get(host),
            view is not None,
            *counts.get(host, (0, 0)),
            standbys=standbys[host],
        )
        for host in sorted(rows.keys() | members.keys())
    ]
    return Found(found, tuple(doubts))


def weigh(
    found: Found,
    seen: deployment_snapshot.Overview,
    interpret: policy_set.Interpreter,
) -> Found:
    """Add to each service what is known of its load.

    :param seen: the whole deployment, as far as it answered.
    :raises RecordsError: if the records did not answer.
    """
    doubts = list(found.doubts)
    for part, error in seen.unread.items():
        if part is deployment_snapshot.Part.RECORDS:
            raise error
        doubts.append(f'{part} is unknown: {error}')
    nodes = seen.nodes.listed if seen.nodes else None
    if seen.nodes and seen.nodes.unlisted:
        doubts.append(
            f'what is unavailable is unknown: {seen.nodes.unlisted} nodes '
            'without a shard may not be listed with a shard key set'
        )
        nodes = None
    peer_groups = (
        PeerGroups.of(seen.view, seen.services or (), interpret)
        if seen.view
        else None
    )
    loads = balance.loads(
        [standing.row.host for standing in found.standings],
        seen.records or (),
        nodes,
        peer_groups,
        seen.nodes.fleet if seen.nodes else None,
    )
    return Found(
        [_with_load(s, loads[s.row.host]) for s in found.standings],
        tuple(doubts),
    )


def _with_load(standing: Standing, load: balance.Load) -> Standing:
    return dataclasses.replace(
        standing,
        nodes=load.nodes,
        instances=load.instances,
        unavailable=load.unavailable,
        of_mean=load.of_mean,
    )
