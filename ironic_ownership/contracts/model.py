"""The terms of the domain as immutable values.

Policies, backends and the engine exchange these. No value knows its origin:
no IO, no clock, no configuration, standard library only.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ironic_ownership.contracts import member_settings, reasons

if TYPE_CHECKING:
    from ironic_ownership.contracts.moves import StandingOrder

CONTRACT_VERSION = member_settings.CONTRACT_VERSION
SUPPORTED_VERSIONS = member_settings.SUPPORTED_VERSIONS
MAX_SETTINGS_BYTES = member_settings.MAX_SETTINGS_BYTES
MemberSettings = member_settings.MemberSettings
PolicySettings = member_settings.PolicySettings
ProcessInfo = member_settings.ProcessInfo
Value = member_settings.Value

_NO_SETTINGS = MemberSettings()


def canonical_host(host: str) -> str:
    """Return the one spelling under which a service is known everywhere.

    Nova compares host names case-sensitively in one place and not in another,
    and loses half of the nodes when the case changes.

    :returns: the name without surrounding white space, in lower case.
    """
    return host.strip().lower()


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A bare-metal node as Ironic described it during one scan.

    The fields are Ironic's own; ``conductor_group`` is always lower case.
    Treat ``properties``, ``extra`` and ``fields`` as read-only. ``extra`` and
    ``fields`` are empty unless a policy requests them in its ``node_fields``;
    ``fields`` has the requested ones by name, as Ironic's API gives them.
    """

    uuid: str
    name: str | None = None
    driver: str = ''
    conductor_group: str = ''
    shard: str | None = None
    instance_uuid: str | None = None
    provision_state: str | None = None
    target_provision_state: str | None = None
    power_state: str | None = None
    target_power_state: str | None = None
    maintenance: bool = False
    retired: bool = False
    reservation: str | None = None
    resource_class: str | None = None
    properties: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    traits: tuple[str, ...] = ()
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Conductor:
    """A conductor as Ironic lists it.

    A dead one stays on Ironic's list, with the drivers that it had.
    ``conductor_group`` is always lower case, as that of a node.
    """

    hostname: str
    conductor_group: str = ''
    drivers: frozenset[str] = frozenset()
    alive: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """The part of a policy by which Ironic filters on the server.

    ``None`` means "not filtered by this"; the empty conductor group is
    Ironic's default group, a value like any other. ``nothing`` is the scope
    of policies that contradict each other: it matches no node.
    """

    shard: str | None = None
    conductor_group: str | None = None
    nothing: bool = False

    def intersect(self, other: Scope) -> Scope:
        """Return the scope of the nodes that both scopes match.

        Source: ironic-shards, "Config changes": shard and conductor group
        add up.
        """
        shard, group = self.shard, self.conductor_group
        if shard is None:
            shard = other.shard
        if group is None:
            group = other.conductor_group
        nothing = self.nothing or other.nothing
        nothing = nothing or other.shard not in (None, shard)
        nothing = nothing or other.conductor_group not in (None, group)
        return Scope(shard, group, nothing)

    def matches(self, shard: str | None, conductor_group: str) -> bool:
        """Tell whether a node of that shard and group is in the scope."""
        return (
            not self.nothing
            and self.shard in (None, shard)
            and self.conductor_group in (None, conductor_group)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A process of a service that is alive in the membership backend.

    ``incarnation`` is new for every start of a process. ``joined_at`` is in
    seconds since the epoch, by the store's clock if the backend has the
    capability ``STORE_CLOCK``, else by the member's own. A member that joins
    again after the store lost it has a later one, by which others notice the
    loss.
    """

    host: str
    incarnation: str
    joined_at: float = 0.0
    settings: MemberSettings = _NO_SETTINGS


@dataclasses.dataclass(frozen=True)
class View:
    """An immutable snapshot of the members, ordered by host.

    As a backend returns it, a host may have several members. In the result
    of :meth:`serving` each host has one, the active process, and the others
    are ``standbys``.

    :param expires_in: seconds after which the first of the members expires
        unless it beats, and the view should be read again; ``None`` where the
        store does not know. Ignored when views are compared.
    :param ahead: seconds by which heartbeats come from the future of the
        server that answered, by host. Ignored when views are compared.
    :param beaten_at: time of the last heartbeat by incarnation, in seconds
        since the epoch by the store's clock, as far as the store knows it.
        For operators only; ignored when views are compared.
    """

    members: tuple[Member, ...] = ()
    standbys: tuple[Member, ...] = ()
    expires_in: float | None = dataclasses.field(default=None, compare=False)
    ahead: Mapping[str, float] = dataclasses.field(
        default_factory=dict, compare=False
    )
    beaten_at: Mapping[str, float] = dataclasses.field(
        default_factory=dict, compare=False
    )

    @classmethod
    def of(
        cls,
        members: Iterable[Member],
        expires_in: float | None = None,
        ahead: Mapping[str, float] | None = None,
        beaten_at: Mapping[str, float] | None = None,
    ) -> View:
        """Build a view that is independent of the order of its members."""
        ordered = tuple(sorted(members, key=_by_host))
        return cls(ordered, (), expires_in, ahead or {}, beaten_at or {})

    def serving(self, services: Iterable[Service]) -> View:
        """Return the view with one member for each host: the active one.

        While no process of a host is active, because the last one has just
        died, the first by ``incarnation`` represents the host: a host with a
        standby is alive.

        :param services: the rows, which name the active incarnations.
        """
        active = {row.host: row.incarnation for row in services}
        chosen: dict[str, Member] = {}
        for member in self.members:
            if member.host not in chosen or member.incarnation == active.get(
                member.host
            ):
                chosen[member.host] = member
        rest = (m for m in self.members if chosen[m.host] is not m)
        return View(tuple(chosen.values()), tuple(rest), ahead=self.ahead)

    def without(self, hosts: Collection[str]) -> View:
        """Return the view without some hosts."""
        return dataclasses.replace(
            self,
            members=tuple(m for m in self.members if m.host not in hosts),
            standbys=tuple(m for m in self.standbys if m.host not in hosts),
        )

    def incarnations(self, host: str) -> frozenset[str]:
        """Return the incarnations of all processes of a host."""
        everyone = (*self.members, *self.standbys)
        return frozenset(m.incarnation for m in everyone if m.host == host)

    def get(self, host: str) -> Member | None:
        """Return the (active) member of that canonical host, if any."""
        return next((m for m in self.members if m.host == host), None)

    @property
    def hosts(self) -> frozenset[str]:
        """The canonical host names of all members."""
        return frozenset(m.host for m in self.members)

    @property
    def checksum(self) -> str:
        """Eight bytes in hex, equal in every process that sees this view."""
        text = '\n'.join(
            f'{m.host} {m.incarnation} {m.settings.decisive.to_json()}'
            for m in sorted((*self.members, *self.standbys), key=_by_host)
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _by_host(member: Member) -> tuple[str, str]:
    return member.host, member.incarnation


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """The row of a compute service; outlives the processes that serve it.

    ``epoch`` only grows: each registration and each fencing raises it, and
    every write by the host is conditional on its epoch. ``fenced``: the right
    to write was revoked, and the service has not registered since.
    ``incarnation`` is that of the active process: the last one that
    registered, or the one that is to take over. ``away``: the service was
    stopped and is expected back; its grace period had not ended when the row
    was read. ``view_checksum`` and ``config_error`` are its last report: the
    members it sees, and why it does not act by its configuration.
    ``revision``: each transaction that decides from the row raises it, so it
    becomes smaller only if the database lost commits. ``unmarked``: how many
    of these transactions left no mark on the records that they changed.
    ``up_in_nova``: a nova-compute of that host sends heartbeats to the cell.
    ``order``: what happens to its deployed nodes without it. ``fence_epoch``
    and ``fence_seen_at``: the last fence that another service has noted for
    the order, and when. ``order_due``: when the row was read, the order's time
    had passed since the fence that still holds.
    """

    host: str
    epoch: int = 0
    disabled: bool = False
    disabled_reason: str | None = None
    forced_down: bool = False
    fenced: bool = False
    settings: MemberSettings = _NO_SETTINGS
    registered_at: float | None = None
    view_checksum: str | None = None
    config_error: str | None = None
    incarnation: str | None = None
    away: bool = False
    order: StandingOrder | None = None
    fence_epoch: int | None = None
    fence_seen_at: float | None = None
    order_due: bool = dataclasses.field(default=False, compare=False)
    revision: int = dataclasses.field(default=0, compare=False)
    unmarked: int = dataclasses.field(default=0, compare=False)
    up_in_nova: bool = dataclasses.field(default=False, compare=False)

    @property
    def never_registered(self) -> bool:
        """True for a row that was made for the service, not by it.

        It names the owner of adopted records. Whether something serves them
        is not known here, so nothing is taken from it unless an operator
        forces it down.
        """
        return self.registered_at is None and not self.settings.policies

    @property
    def fence_is_noted(self) -> bool:
        """True if it has not registered since the fence that was noted."""
        return self.fenced and self.fence_epoch == self.epoch

    @property
    def order_due_at(self) -> float | None:
        """The time at which its deployed nodes move, if it is known."""
        if self.order is None or not self.fence_is_noted:
            return None
        return (self.fence_seen_at or 0.0) + self.order.after

    def may_lose_nodes(self, *, dead: bool) -> bool:
        """Tell whether a standing order may move its deployed nodes.

        Not while it is expected back, nor if it may be alive. An operator who
        forces it down knows that it is not.

        :param dead: whether it is, as far as the members show.
        """
        # Release 1.0 does not sign its requests: Ironic can't refuse them.
        gone = self.forced_down or (dead and self.settings.process is not None)
        return gone and not self.away

    def is_served_by(self, member: Member) -> bool:
        """Tell whether a member of this host is its active process."""
        return not self.fenced and self.incarnation in (
            None,  # registered by a program that has no standbys
            member.incarnation,
        )

    @property
    def is_stock(self) -> bool:
        """True while a nova-compute without the driver serves it."""
        return self.never_registered and self.up_in_nova

    def decided(
        self,
        disabled: bool | None = None,
        disabled_reason: str | None = None,
        forced_down: bool | None = None,
    ) -> Service:
        """Return the service as it is after an operator's decision.

        ``None`` keeps a setting. Only a disabled service has a reason.
        Forcing down revokes the right to write immediately.
        """
        is_disabled = self.disabled if disabled is None else disabled
        reason = disabled_reason or self.disabled_reason
        down = self.forced_down if forced_down is None else forced_down
        stopped = down and not self.forced_down
        return dataclasses.replace(
            self,
            disabled=is_disabled,
            disabled_reason=reason if is_disabled else None,
            forced_down=down,
            epoch=self.epoch + 1 if stopped else self.epoch,
            fenced=self.fenced or stopped,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ComputeNode:
    """The record of the service that owns a node.

    ``uuid`` is the node's and never changes. ``host`` is ``None`` while the
    node is unowned. ``instance_uuid`` is the instance recorded as running on
    it; ``shard`` and ``conductor_group`` are those last seen by its owner.
    ``unavailable`` is a code of :class:`reasons.Unavailable`, as last
    evaluated by the owner, and ``unavailable_since`` the time at which it was
    written, in seconds since the epoch by the database's clock; both are
    ``None`` for an available node. ``placement_digest`` identifies what
    Placement accepted for the node; ``None`` if that is nothing or unknown.
    ``released_by`` is the service that released an unowned node for another.
    """

    uuid: str
    host: str | None = None
    instance_uuid: str | None = None
    name: str | None = None
    driver: str = ''
    shard: str | None = None
    conductor_group: str = ''
    reason: reasons.Reason = reasons.Reason.EXCLUSIVE
    updated_at: float | None = None
    unavailable: str | None = None
    unavailable_since: float | None = None
    placement_digest: str | None = None
    released_by: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One line of the history: actor, change, node and reason."""

    id: int
    at: float
    actor: str
    kind: str
    node_uuid: str | None = None
    from_host: str | None = None
    to_host: str | None = None
    instance_uuid: str | None = None
    reason: str | None = None
    request_id: str | None = None
