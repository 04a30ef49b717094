"""Reader of a whole deployment, as far as its parts answer.

The number of requests is that of the pages, a constant, and a bounded number
of look-ups; the number of queries is that of the pages of the records, and a
constant. The order is that of a refresh, see ``engine.host.snapshot``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Companion
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import (
    BareMetal,
    Placement,
    Records,
    Reservations,
)
from ironic_ownership.engine.queries.deployment import Deployment, Part

T = TypeVar('T')

MAX_LOOKUPS = 20
"""Records whose node is not listed that are looked up one by one."""


@dataclasses.dataclass(frozen=True)
class Sources:
    """Sources to read; each is opened on first use."""

    interpret: policy_set.Interpreter
    records: Callable[[], Records]
    ironic: Callable[[], BareMetal]
    backend: Callable[[], MembershipBackend]
    # Not for every caller: there may be one for each node.
    reservations: Callable[[], Reservations] | None = None
    companion: Callable[[], Companion | None] = lambda: None
    # Read only next to a companion.
    placement: Callable[[], Placement | None] = lambda: None
    # Empty where nothing is sent to Ironic that needs a signature.
    shared_key: str = ''


def read(sources: Sources, *, sharded: bool) -> Deployment:
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

    def rows() -> dict[str, model.Service]:
        found = attempt(Part.RECORDS, lambda: sources.records().services())
        return {row.host: row for row in found or ()}

    services = rows()
    policy_set.prepare(services.values(), sources.interpret)
    records = attempt(
        Part.RECORDS,
        lambda: {
            one.uuid: one
            for one in sources.records().in_reach('', model.Scope())
        },
    )
    reports = attempt(
        Part.RECORDS, lambda: sources.records().condition_reports()
    )
    reservations = pauses = None
    if (stored := sources.reservations) is not None:
        reservations = attempt(Part.RECORDS, lambda: stored().reservations())
        pauses = attempt(Part.RECORDS, lambda: sources.records().pauses())
    ironic = attempt(
        Part.IRONIC, lambda: _nodes(sources.ironic(), records or {}, sharded)
    )
    enforcement = None
    if sources.shared_key:
        enforcement = attempt(
            Part.IRONIC,
            lambda: sources.ironic().enforcement(sources.shared_key),
        )
    view = attempt(Part.MEMBERSHIP, lambda: sources.backend().view())
    # After the view: a service writes that it is away before it leaves. One
    # that was deleted meanwhile has owned nodes on these records.
    services |= rows()
    companion = attempt(Part.CELL, sources.companion)
    return Deployment(
        sources.interpret,
        services,
        (view or model.View()).serving(services.values()),
        records or {},
        **(ironic or {}),
        unread=unread,
        reservations=reservations or (),
        reports=reports or {},
        pauses=pauses or (),
        companion=companion and companion.read(attempt, sources.placement),
        enforcement=enforcement,
    )


def _nodes(
    ironic: BareMetal, records: Mapping[str, model.ComputeNode], sharded: bool
) -> dict[str, Any]:
    """Return what is known of Ironic."""
    unlisted = 0
    nodes: dict[str, model.Node] = {}
    scopes = [model.Scope()]
    if sharded:
        counts = ironic.shard_counts()
        unlisted = counts.get(None, 0)
        names = sorted(name for name in counts if name is not None)
        scopes = [model.Scope(shard=name) for name in names]
    for scope in scopes:
        nodes |= ironic.fleet(scope)
    # Nodes without a shard are not listed: nothing to verify.
    missing = sorted(
        r.uuid
        for r in records.values()
        if r.uuid not in nodes and not (sharded and r.shard is None)
    )
    gone = set()
    for uuid in missing[:MAX_LOOKUPS]:
        node = ironic.get(uuid)
        if node is None:
            gone.add(uuid)
        else:
            nodes[uuid] = node
            unlisted -= sharded and node.shard is None
    conductors, unshown = availability.read_conductors(ironic)
    return {
        'nodes': nodes,
        'conductors': conductors,
        'unshown': unshown,
        'gone': frozenset(gone),
        'unverified': frozenset(missing[MAX_LOOKUPS:]),
        'unlisted': max(unlisted, 0),
    }
