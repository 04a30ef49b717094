"""Deployment at one moment, as far as its parts answer, and what follows.

Read-only. The number of requests is that of the pages, a constant, and a
bounded number of look-ups; the number of queries is that of the pages of the
records, and a constant. The order is that of a refresh, see
``engine.host.snapshot``.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.bare_metal import BareMetal, Enforcement
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.placement import Placement
from ironic_ownership.contracts.records import Companion, Pause
from ironic_ownership.contracts.reservations import Reservation
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import (
    BATCH,
    OnFault,
    PeerGroups,
    raise_fault,
)
from ironic_ownership.engine.ports import Records, Reservations
from ironic_ownership.engine.queries import node_status
from ironic_ownership.engine.queries.node_status import NodeStatus

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
class Deployment:
    """The deployment at one moment; what did not answer is empty.

    :param services: rows by host.
    :param view: with one member for each host, the active one.
    :param records: by uuid of the node.
    :param nodes: all nodes of Ironic by uuid, including those that were
        looked up.
    :param conductors: ``None`` if Ironic does not show them.
    :param unshown: the error of that.
    :param gone: uuids on record for which Ironic answered 404.
    :param unverified: uuids on record that are not in the list, and too many
        to look up.
    :param unlisted: number of nodes without a shard that were not listed,
        because only nodes of a shard may be.
    :param unread: the error of each part that did not answer.
    :param reservations: the open ones, if requested, as are ``pauses``.
    :param reports: what the services stored of their loops, by host.
    :param pauses: those that last.
    :param companion: what a companion has read, with its ``checks``.
    :param reporting: whether the local configuration reports to Placement.
    :param on_fault: as of :class:`PeerGroups`.
    :param enforcement: whether Ironic enforces ownership; ``None`` if it is
        not configured here.
    """

    interpret: policy_set.Interpreter
    services: Mapping[str, model.Service] = dataclasses.field(
        default_factory=dict
    )
    view: model.View = model.View()  # noqa: RUF009 - it is immutable
    records: Mapping[str, model.ComputeNode] = dataclasses.field(
        default_factory=dict
    )
    nodes: Mapping[str, model.Node] = dataclasses.field(default_factory=dict)
    conductors: availability.Conductors | None = None
    unshown: exceptions.IronicError | None = None
    gone: frozenset[str] = frozenset()
    unverified: frozenset[str] = frozenset()
    unlisted: int = 0
    unread: Mapping[Part, exceptions.OwnershipError] = dataclasses.field(
        default_factory=dict
    )
    reservations: Sequence[Reservation] = ()
    reports: Mapping[str, ConditionReport] = dataclasses.field(
        default_factory=dict
    )
    pauses: Sequence[Pause] = ()
    companion: Any = None
    reporting: bool = False
    on_fault: OnFault = raise_fault
    enforcement: Enforcement | None = None

    def require(self) -> None:
        """Raise the error of the first part that did not answer, if any."""
        for error in self.unread.values():
            raise error

    @functools.cached_property
    def peer_groups(self) -> PeerGroups:
        """The peer groups; without rows, as if no service were disabled."""
        return PeerGroups.of(
            self.view, self.services.values(), self.interpret, self.on_fault
        )

    def statuses(
        self, uuids: Iterable[str], size: int = BATCH
    ) -> Iterator[NodeStatus]:
        """Yield the status of these nodes and records, in their order.

        Only they are decided, but all at once where a decision may depend on
        other nodes, and for policies of other packages. A record whose node
        is not among the nodes is an orphan.

        :param size: number of nodes that are in use at a time.
        :raises PluginFaultError: if a policy fails, unless it is tolerated.
        """
        rest = iter(uuids)
        while some := list(itertools.islice(rest, size)):
            nodes, records = _some(self.nodes, some), _some(self.records, some)
            decisions = self._decided
            if decisions is None:
                decisions = decide.decide(
                    nodes.values(), records, self.peer_groups
                )
            for uuid in some:
                yield node_status.of(
                    uuid,
                    nodes.get(uuid),
                    records.get(uuid),
                    decisions,
                    self.peer_groups,
                    self.conductors,
                )

    @functools.cached_property
    def _decided(self) -> decide.Decisions | None:
        """All decisions, where they are made at once."""
        if self.peer_groups.divisible:
            return None
        return decide.decide(
            self.nodes.values(), self.records, self.peer_groups
        )

    @property
    def evaluated(self) -> Sequence[NodeStatus]:
        """The status of every node that Ironic has, as far as it is known.

        Nodes of services whose settings cannot be read are left out.

        :raises PluginFaultError: if a policy fails; it is called only once.
        """
        if isinstance(self._evaluated, exceptions.PluginFaultError):
            raise self._evaluated
        return self._evaluated

    @functools.cached_property
    def _evaluated(
        self,
    ) -> Sequence[NodeStatus] | exceptions.PluginFaultError:
        try:
            return [
                status
                for status in self.statuses(self.nodes)
                if not any(
                    one.may_admit(*status.place, status.node)
                    for one in self.unreadable
                )
            ]
        except exceptions.PluginFaultError as exc:
            return exc

    @functools.cached_property
    def unreadable(self) -> Sequence[policy_set.PolicySet]:
        """Filters of live, enabled services that can be built in part only.

        A node that they may admit may be well served.
        """
        groups = self.peer_groups
        return [
            policy_set.readable_part(member.settings, self.interpret)
            for member in self.view.members
            if groups.policies.get(member.host) is None
            and member.host in groups.alive
            and not (
                member.host in self.services
                and self.services[member.host].disabled
            )
        ]

    @functools.cached_property
    def places(self) -> Mapping[tuple[str | None, str], int]:
        """The number of nodes by shard and conductor group."""
        return collections.Counter(
            (node.shard, node.conductor_group) for node in self.nodes.values()
        )


def _some(found: Mapping[str, T], uuids: Iterable[str]) -> dict[str, T]:
    pairs = ((uuid, found.get(uuid)) for uuid in uuids)
    return {uuid: one for uuid, one in pairs if one is not None}


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

    services = {
        row.host: row
        for row in attempt(Part.RECORDS, lambda: sources.records().services())
        or ()
    }
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
        Part.IRONIC,
        lambda: _nodes(sources.ironic(), records or {}, sharded),
    )
    enforcement = None
    if sources.shared_key:
        enforcement = attempt(
            Part.IRONIC,
            lambda: sources.ironic().enforcement(sources.shared_key),
        )
    view = attempt(
        Part.MEMBERSHIP,
        lambda: sources.backend().view().serving(services.values()),
    )
    companion = attempt(Part.CELL, sources.companion)
    return Deployment(
        sources.interpret,
        services,
        view or model.View(),
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
    ironic: BareMetal,
    records: Mapping[str, model.ComputeNode],
    sharded: bool,
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
    known = availability.read_conductors(ironic)
    return {
        'nodes': nodes,
        'conductors': known.conductors,
        'unshown': known.error,
        'gone': frozenset(gone),
        'unverified': frozenset(missing[MAX_LOOKUPS:]),
        'unlisted': max(unlisted, 0),
    }
