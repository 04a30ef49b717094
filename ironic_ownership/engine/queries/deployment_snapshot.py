"""Snapshot of the whole deployment, as far as its parts answer.

Read-only. The number of requests is that of the pages, a constant, and a
bounded number of look-ups; the number of queries is that of the pages of the
records, and a constant. The order is that of a refresh, see
``engine.host.snapshot``.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.companion import Companion
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.reservations import Reservation
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.ports import Records, Reservations

MAX_LOOKUPS = 20
"""Records whose node is not listed that are looked up one by one."""

T = TypeVar('T')


class Part(enum.StrEnum):
    """A part of the deployment, which may or may not answer."""

    RECORDS = 'records'
    IRONIC = 'Ironic'
    MEMBERSHIP = 'membership'
    CELL = 'cell'
    PLACEMENT = 'Placement'


@dataclasses.dataclass(frozen=True)
class Sources:
    """Sources to read; each is opened on first use.

    :param prepare: receives the services before the nodes are read.
    """

    records: Callable[[], Records]
    inventory: Callable[[], Inventory]
    backend: Callable[[], MembershipBackend]
    # Not for every caller: there may be one for each node.
    reservations: Callable[[], Reservations] | None = None
    companion: Callable[[], Companion | None] = lambda: None
    prepare: Callable[[Iterable[model.Service]], object] = list
    # Read only next to a companion.
    placement: Callable[[], Placement | None] = lambda: None


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Nodes and conductors of Ironic.

    :param listed: all nodes by uuid, including those that were looked up.
    :param gone: uuids on record for which Ironic answered 404.
    :param unverified: uuids on record that are not in the list, and too many
        to look up.
    :param unlisted: number of nodes without a shard that were not listed,
        because only nodes of a shard may be.
    :param outage_counts: whether nodes are out of service while no conductor
        is alive.
    :param unshown: the error, if Ironic does not show its conductors.
    """

    listed: Mapping[str, model.Node]
    gone: frozenset[str] = frozenset()
    unverified: frozenset[str] = frozenset()
    unlisted: int = 0
    conductors: Sequence[model.Conductor] | None = None
    outage_counts: bool = True
    unshown: exceptions.IronicError | None = None

    @functools.cached_property
    def fleet(self) -> evaluation.Fleet | None:
        """The conductors; ``None`` if Ironic does not show them."""
        if self.conductors is None:
            return None
        return evaluation.Fleet.of(
            self.conductors, outage_counts=self.outage_counts
        )


@dataclasses.dataclass(frozen=True)
class DeploymentSnapshot:
    """The deployment at one moment; ``None`` for parts that did not answer.

    :param records: by uuid of the node.
    :param view: with one member for each host, the active one.
    :param unread: the error of each part that did not answer.
    :param reservations: the open ones; ``None`` also if not requested.
    :param reports: what the services stored of their loops, by host.
    :param companion: what a companion has read, with its ``checks``.
    """

    services: Sequence[model.Service] | None
    records: Mapping[str, model.ComputeNode] | None
    nodes: Nodes | None
    view: model.View | None
    unread: Mapping[Part, exceptions.OwnershipError]
    reservations: Sequence[Reservation] | None = None
    reports: Mapping[str, ConditionReport] | None = None
    companion: Any = None

    def require(self) -> None:
        """Raise the error of the first part that did not answer, if any."""
        for error in self.unread.values():
            raise error


def read(sources: Sources, *, sharded: bool) -> DeploymentSnapshot:
    """Read all parts, as far as they answer.

    :param sharded: whether nodes may be listed by shard only. Law 4: with a
        shard key set no request without a shard filter lists nodes.
    """
    unread: dict[Part, exceptions.OwnershipError] = {}

    def attempt(part: Part, work: Callable[[], T]) -> T | None:
        if part in unread:
            return None
        try:
            return work()
        except (
            exceptions.RecordsError,
            exceptions.IronicError,
            exceptions.MembershipError,
            exceptions.PlacementError,
        ) as exc:
            unread[part] = exc
            return None

    services = attempt(Part.RECORDS, lambda: sources.records().services())
    sources.prepare(services or ())
    records = attempt(
        Part.RECORDS,
        lambda: {
            one.uuid: one for one in sources.records().near('', model.Scope())
        },
    )
    reports = attempt(
        Part.RECORDS, lambda: sources.records().condition_reports()
    )
    reservations = None
    if (stored := sources.reservations) is not None:
        reservations = attempt(Part.RECORDS, lambda: stored().reservations())
    nodes = attempt(
        Part.IRONIC,
        lambda: _nodes(sources.inventory(), records or {}, sharded),
    )
    view = attempt(
        Part.MEMBERSHIP,
        lambda: sources.backend().view().serving(services or ()),
    )
    companion = attempt(Part.CELL, sources.companion)
    found = companion and companion.read(attempt, sources.placement)
    return DeploymentSnapshot(
        *(services, records, nodes, view, unread),
        *(reservations, reports, found),
    )


def _nodes(
    source: Inventory,
    records: Mapping[str, model.ComputeNode],
    sharded: bool,
) -> Nodes:
    unlisted = 0
    listed: dict[str, model.Node] = {}
    scopes = [model.Scope()]
    if sharded:
        counts = source.shard_counts()
        unlisted = counts.get(None, 0)
        names = sorted(name for name in counts if name is not None)
        scopes = [model.Scope(shard=name) for name in names]
    for scope in scopes:
        listed |= source.fleet(scope)
    # Nodes without a shard are not listed: nothing to verify.
    missing = sorted(
        r.uuid
        for r in records.values()
        if r.uuid not in listed and not (sharded and r.shard is None)
    )
    gone = set()
    for uuid in missing[:MAX_LOOKUPS]:
        node = source.get(uuid)
        if node is None:
            gone.add(uuid)
        else:
            listed[uuid] = node
            unlisted -= sharded and node.shard is None
    conductors, unshown = _conductors(source)
    return Nodes(
        listed,
        frozenset(gone),
        frozenset(missing[MAX_LOOKUPS:]),
        max(unlisted, 0),
        conductors,
        source.outage_counts,
        unshown,
    )


def _conductors(
    source: Inventory,
) -> tuple[Sequence[model.Conductor] | None, exceptions.IronicError | None]:
    try:
        return source.conductors(), None
    except exceptions.IronicError as exc:
        return None, exc
