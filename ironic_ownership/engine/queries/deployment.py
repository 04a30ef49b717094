"""Deployment at one moment, as far as its parts answer, and what follows.

Pure. The status of a compute node is Ironic's node, record, decision and
availability: the CLI, the HTTP API, ``check`` and the metrics all show it.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.contracts.records import Pause
from ironic_ownership.contracts.reservations import Reservation
from ironic_ownership.contracts.texts import DescribedEnum
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import decide, policy_set
from ironic_ownership.engine.decision.peer_groups import (
    BATCH,
    OnFault,
    PeerGroups,
    raise_fault,
    readable_part,
)
from ironic_ownership.engine.ports import BareMetal, Ports

LOG = log.getLogger(__name__)


class State(DescribedEnum):
    """Ownership state of a compute node, the most alarming first."""

    ORPHAN = 'orphan', 'has a record, but Ironic answers 404 for its uuid'
    CONTESTED = 'contested', 'live services disagree about it'
    UNOWNED = 'unowned', 'in Ironic, and no service owns it'
    FILTERED = (
        'filtered',
        'its owner keeps it, although its policies no longer admit it',
    )
    OWNED = 'owned', 'a service owns it, and its policies admit it'


class Availability(DescribedEnum):
    """Availability of a compute node for scheduling."""

    AVAILABLE = 'available', 'new instances can be scheduled to it'
    UNAVAILABLE = (
        'unavailable',
        'nothing can be scheduled to it; "unavailable" has the reason',
    )
    OUT_OF_SERVICE = (
        'out-of-service',
        'no live conductor of its conductor group has its driver',
    )


@dataclasses.dataclass(frozen=True, slots=True)
class NodeStatus:
    """One compute node: Ironic's node, the record and the decision.

    :param decision: without an owner for a node that Ironic does not have.
    :param owner_alive: whether the owner on record is alive; ``None`` while
        the node is unowned.
    :param availability: ``None`` for a node that Ironic does not have.
    """

    uuid: str
    state: State
    node: model.Node | None
    record: model.ComputeNode | None
    decision: reasons.Decision
    owner_alive: bool | None
    availability: reasons.Evaluation | None = None

    @property
    def owner(self) -> str | None:
        """The service on record."""
        return self.record.host if self.record else None

    @property
    def released_by(self) -> str | None:
        """The service that released it, while it is unowned."""
        return self.record.released_by if self.record else None

    @property
    def name(self) -> str | None:
        """The name: Ironic's, else the recorded one."""
        known = self.node or self.record
        return known.name if known else None

    @property
    def driver(self) -> str | None:
        """The driver: Ironic's, else the recorded one."""
        known = self.node or self.record
        return (known.driver if known else None) or None

    @property
    def place(self) -> tuple[str | None, str]:
        """Shard and conductor group: Ironic's, else the recorded ones."""
        known = self.node or self.record
        return (known.shard, known.conductor_group) if known else (None, '')

    @property
    def unavailable(self) -> str | None:
        """The code why nothing can be scheduled to it; ``None`` if it can."""
        code = self.availability.code if self.availability else None
        return code.value if code else None

    @property
    def is_out_of_service(self) -> bool:
        """True if no live conductor supports it."""
        return self.unavailable == reasons.Unavailable.OUT_OF_SERVICE

    def is_in(self, states: Collection[str]) -> bool:
        """Tell whether any :class:`State` or :class:`Availability` fits."""
        found = {str(self.state)}
        if self.availability is not None:
            code = self.availability.code
            found.add(
                Availability.UNAVAILABLE if code else Availability.AVAILABLE
            )
            if self.is_out_of_service:
                found.add(Availability.OUT_OF_SERVICE)
        return not found.isdisjoint(states)


def _gone(record: model.ComputeNode | None) -> reasons.Decision:
    begun = reasons.Reason.BEING_DELETED
    if record is not None and record.reason is begun:
        return reasons.Decision(None, begun)
    return reasons.Decision(None, reasons.Reason.NODE_GONE)


def _state(
    node: model.Node | None, owner: str | None, decision: reasons.Decision
) -> State:
    if node is None:
        return State.ORPHAN
    if decision.contest is not None:
        return State.CONTESTED
    if owner is None:
        return State.UNOWNED
    return State.FILTERED if decision.filtered else State.OWNED


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
                node, record = nodes.get(uuid), records.get(uuid)
                decision = decisions.get(uuid) or _gone(record)
                owner = record.host if record else None
                yield NodeStatus(
                    uuid,
                    _state(node, owner, decision),
                    node,
                    record,
                    decision,
                    None if owner is None else owner in self._alive,
                    availability.evaluate_for_observer(
                        node, record, self.conductors
                    )
                    if node
                    else None,
                )

    @functools.cached_property
    def _alive(self) -> frozenset[str]:
        """Live hosts, with those that stock Nova serves."""
        rows = self.services.values()
        stock = {r.host for r in rows if r.is_stock and not r.forced_down}
        return self.peer_groups.alive | stock

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
    def _evaluated(self) -> Sequence[NodeStatus] | exceptions.PluginFaultError:
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
            readable_part(member.settings, self.interpret)
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


def read_services(
    ports: Ports,
) -> tuple[Mapping[str, model.Service], model.View]:
    """Return the rows by host, and the members."""
    view = ports.backend.view()
    # After the view: a service writes that it is away before it leaves.
    services = {row.host: row for row in ports.records.services()}
    return services, view.serving(services.values())


def conductors_of(ironic: BareMetal) -> availability.Conductors | None:
    """Return the conductors, and log if availability can't be evaluated."""
    found, error = availability.read_conductors(ironic)
    if found is None:
        LOG.warning('out-of-service nodes are unknown: %s', error)
    elif found.ignores_outage:
        LOG.warning(
            'out-of-service nodes are unknown: no conductor of Ironic is alive'
        )
    return found
