"""The port to the records: services, compute nodes, instances and events.

The implementation is our own SQL database. The engine sees these values and
no SQL.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.availability import Evaluation
from ironic_ownership.contracts.compact import CompactMap
from ironic_ownership.contracts.conditions import Condition, ConditionReport
from ironic_ownership.contracts.events import (
    EVERY_EVENT,
    EventFilter,
    EventPosition,
)
from ironic_ownership.contracts.node_filter import NodeFilter


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """Become the owner of a node, if its record is still as it was seen.

    :param seen_host: owner on record when the decision was made; ``None``
        without a record and for an unowned node.
    :param seen_epoch: epoch of that owner then. The claim fences the owner
        in its own transaction, and is refused if the owner has registered
        again; not used for an unowned node.
    :param availability: as the claimer evaluated it; ``None`` keeps what is
        on record.
    :param cause: why that owner counts as gone, for the events of its fence
        and of the take-over; not used for an unowned node.
    :param note: the assigner's own reason, one line, for the event.
    :param seen_deletion: whether the record was seen as being deleted: the
        claim ends that. Otherwise it is refused meanwhile.
    """

    node: model.Node
    reason: reasons.Reason
    seen_host: str | None = None
    seen_epoch: int | None = None
    availability: Evaluation | None = None
    cause: str | None = dataclasses.field(default=None, compare=False)
    note: str = dataclasses.field(default='', compare=False)
    seen_deletion: bool = False

    @property
    def uuid(self) -> str:
        """The node's uuid."""
        return self.node.uuid


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """Give up a free node that the writer owns."""

    uuid: str
    reason: reasons.Reason = reasons.Reason.RELEASED


@dataclasses.dataclass(frozen=True, slots=True)
class Update:
    """Bring the record of an own node up to date with Ironic.

    Opens an instance when one appeared, closes it when it went, replaces it
    when it changed, and stores name, driver, shard and conductor group.
    An availability with another code than that on record replaces it and
    leaves one event, unless the node just got or lost its instance, which
    has an event of its own.

    :param availability: as the owner evaluated it; ``None`` keeps what is on
        record.
    """

    node: model.Node
    availability: Evaluation | None = None

    @property
    def uuid(self) -> str:
        """The node's uuid."""
        return self.node.uuid


@dataclasses.dataclass(frozen=True, slots=True)
class BeginDeletion:
    """Mark a record that can be deleted; its provider is next. No event."""

    uuid: str


@dataclasses.dataclass(frozen=True, slots=True)
class Forget:
    """Delete the record of an own node without an instance.

    The row stays, marked as deleted: a node that returns gets it back.
    """

    uuid: str
    reason: reasons.Reason = reasons.Reason.NODE_GONE


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Remember what Placement accepted of an own node. No event."""

    uuid: str
    digest: str | None


Change = Claim | Release | Update | BeginDeletion | Forget | Report


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a batch of changes."""

    applied: tuple[Change, ...] = ()
    refused: tuple[Change, ...] = ()
    """Lost a race: the record was no longer as it had been seen."""
    fenced: tuple[str, ...] = ()
    """Hosts that lost their right to write, because of a claim."""


class Records(abc.ABC):
    """Services, compute nodes, instances and events.

    ``host`` is a canonical name, ``actor`` the client, for the event, and
    ``request_id`` that of the operator's request. Threading: any thread.
    Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer.
    """

    @abc.abstractmethod
    def register(
        self,
        host: str,
        settings: model.MemberSettings,
        *,
        incarnation: str | None = None,
        alive: Collection[str] | None = (),
    ) -> int:
        """Create or renew the row of a service and raise its epoch.

        The process becomes the active one of its host. All later writes of
        an earlier process of that host are refused, and an absence announced
        by :meth:`retire` is over.

        :param incarnation: of the process that registers.
        :param alive: incarnations of the host that may be alive; ``None`` if
            all may. Another one of them that is active keeps its place, unless
            the row was fenced for this incarnation by :meth:`fail_over`.
        :returns: the new epoch: greater than each earlier one, also than those
            of commits that the database has lost.
        :raises FencedError: if it is forced down; nothing is changed.
        :raises StandbyError: if another process, perhaps alive, is active;
            nothing is changed.
        """

    @abc.abstractmethod
    def retire(self, host: str, epoch: int, *, grace: float) -> None:
        """Give up the active place: the last write of a process that stops.

        No process is active afterwards, so that the next one need not wait.
        The row is fenced: no write under the old epoch is accepted any more.

        :param grace: seconds for which the service is expected back, by the
            database's clock: until then it counts as ``away`` and its nodes
            stay where they are. Zero: it is gone.
        :raises FencedError: if the epoch is no longer the current one.
        """

    @abc.abstractmethod
    def fail_over(
        self,
        host: str,
        *,
        incarnation: str,
        actor: str,
        request_id: str | None = None,
    ) -> model.Service:
        """Make another process of a host the active one.

        In one event. The process that was active writes nothing more, and
        only the named one, or any once that one is dead, can register.

        :param incarnation: the standby that takes over.
        :returns: the service as it is now, ``fenced``.
        :raises NotFoundError: if there is no such service.
        """

    @abc.abstractmethod
    def record_death(
        self, host: str, epoch: int, dead: str, cause: str
    ) -> bool:
        """Record that a service was found dead, in one event.

        Each registration has one at most. A service that stopped cleanly or
        was fenced has an event already.

        :param host: the observer.
        :param epoch: of the observer.
        :param dead: the service.
        :param cause: for the reason of the event.
        :returns: whether an event was added.
        :raises FencedError: if the observer's epoch is no longer the current.
        """

    @abc.abstractmethod
    def advertise(
        self, host: str, epoch: int, settings: model.MemberSettings
    ) -> None:
        """Store changed settings of a registered service.

        :raises FencedError: if the epoch is no longer the current one.
        """

    @abc.abstractmethod
    def report(
        self,
        host: str,
        epoch: int,
        *,
        view_checksum: str,
        config_error: str | None,
    ) -> None:
        """Store the status of a registered service.

        :param view_checksum: of the view it last saw.
        :param config_error: why it does not act by its configuration.
        :raises FencedError: if the epoch is no longer the current one.
        """

    @abc.abstractmethod
    def report_conditions(
        self,
        host: str,
        incarnation: str,
        found: Sequence[Condition],
        *,
        interval: float,
        at: float,
    ) -> bool:
        """Store the conditions of a process of a service, in place of others.

        Needs no right to write. No event, no change of the service's row.

        :param interval: seconds after which it reports again.
        :param at: the time now, on the clock of ``found``.
        :returns: whether they are stored. Those of another process stay if
            it is the active one, or still reports.
        """

    @abc.abstractmethod
    def condition_reports(self) -> dict[str, ConditionReport]:
        """Return the last report of each service that has one. One query."""

    @abc.abstractmethod
    def set_service(
        self,
        host: str,
        *,
        actor: str,
        disabled: bool | None = None,
        disabled_reason: str | None = None,
        forced_down: bool | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> model.Service:
        """Change an operator's settings of a service, in one event.

        ``None`` keeps a setting; without a change there is no event. Forcing
        down raises the epoch and fences the service: it can't register until
        that is taken back, and then registers again by itself.

        :param disabled_reason: kept while the service is disabled.
        :param reason: why it is changed, for the event.
        :returns: the service as it is now.
        :raises NotFoundError: if there is no such service; none is created.
        """

    @abc.abstractmethod
    def delete_service(
        self, host: str, *, actor: str, request_id: str | None = None
    ) -> None:
        """Delete a service that nothing names any more, dead or alive.

        One that registers later has a greater epoch.

        :raises NotFoundError: if there is no such service.
        :raises ServiceInUseError: if a compute node or an open instance
            names it; nothing is changed.
        """

    @abc.abstractmethod
    def services(self) -> Sequence[model.Service]:
        """Return all services, sorted by host. One query."""

    @abc.abstractmethod
    def service(self, host: str) -> model.Service | None:
        """Return one service, if it exists. One query, by the key."""

    @abc.abstractmethod
    def service_and_node(
        self, host: str, uuid: str
    ) -> tuple[model.Service | None, model.ComputeNode | None]:
        """Return a service and the record of a node, of the same moment.

        One query. Two times ``None`` if there is no such service.
        """

    @abc.abstractmethod
    def compute_nodes(self) -> Sequence[model.ComputeNode]:
        """Return the compute nodes of all services. One query."""

    @abc.abstractmethod
    def compute_nodes_page(
        self, chosen: NodeFilter, *, after: str = '', limit: int
    ) -> Sequence[model.ComputeNode]:
        """Return one page of compute nodes, in the order of their uuids.

        :param after: uuid with which the page before ended.
        :param limit: size of the page; a smaller one is the last.
        """

    @abc.abstractmethod
    def compute_nodes_near(
        self, host: str, scope: model.Scope
    ) -> Sequence[model.ComputeNode]:
        """Return those of one host or last seen in a scope. One query."""

    @abc.abstractmethod
    def near(
        self, host: str, scope: model.Scope
    ) -> CompactMap[model.ComputeNode]:
        """Return the same by uuid, to keep them; not all of one moment."""

    @abc.abstractmethod
    def compute_nodes_changed(
        self, since: Mapping[str, int]
    ) -> Iterator[Mapping[str, model.ComputeNode | None]]:
        """Yield pages of those that changed, by uuid: ``None`` if deleted.

        :param since: last known revisions of services that changed.
        """

    @abc.abstractmethod
    def compute_nodes_by_uuid(
        self, uuids: Collection[str]
    ) -> Sequence[model.ComputeNode]:
        """Return those of the given uuids that exist."""

    @abc.abstractmethod
    def node_of_instance(self, instance_uuid: str) -> str | None:
        """Return the uuid of the node with an open instance. One query."""

    @abc.abstractmethod
    def counts(self) -> dict[str | None, tuple[int, int]]:
        """Count compute nodes by owner: (all, those with an instance)."""

    @abc.abstractmethod
    def apply(
        self,
        host: str,
        epoch: int,
        changes: Sequence[Change],
        *,
        confirm: Callable[[], object] | None = None,
    ) -> Outcome:
        """Carry out changes as one transaction.

        Those are refused whose record is not as they expect it. Every change
        of an owner or of an instance leaves one event.

        :param confirm: called last, inside of the transaction, which may
            have waited for others; an exception rolls everything back.
        :raises FencedError: if the epoch is no longer the current one of
            the host, or the host is fenced; then nothing is changed.
        """

    @abc.abstractmethod
    def events(
        self,
        chosen: EventFilter = EVERY_EVENT,
        *,
        before: EventPosition | None = None,
        limit: int = 100,
    ) -> Sequence[model.Event]:
        """Return the newest events, newest first: by time, then by id.

        :param before: only those that follow this place in the list.
        """

    def close(self) -> None:
        """Free connections. Idempotent."""
        return None
