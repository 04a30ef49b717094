"""The port to the records: services, compute nodes, instances and events.

The implementation is our own SQL database. The engine sees these values and
no SQL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.reasons import Evaluation


@dataclasses.dataclass(frozen=True, slots=True)
class NodeFilter:
    """Compute nodes to select by what is on record; ``None`` selects all.

    :param host: canonical host of the owner.
    :param shard: exactly as last seen in Ironic.
    :param conductor_group: in lower case; empty is the default group.
    """

    host: str | None = None
    shard: str | None = None
    conductor_group: str | None = None

    def matches(self, record: model.ComputeNode) -> bool:
        """Tell whether a record is selected."""
        return (
            self.host in (None, record.host)
            and self.shard in (None, record.shard)
            and self.conductor_group in (None, record.conductor_group)
        )


EVERY_NODE = NodeFilter()


class SeenOwner(NamedTuple):
    """The owner on record when a change was decided.

    :param host: ``None`` for an unowned node.
    :param epoch: of the owner then, if it had a row.
    """

    host: str | None
    epoch: int | None


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
    """Give up a free node that the writer owns.

    :param node: as Ironic has it; a pause of its place holds it as well.
    """

    uuid: str
    reason: reasons.Reason = reasons.Reason.RELEASED
    node: model.Node | None = dataclasses.field(default=None, compare=False)


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
class Delete:
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


class Tally(NamedTuple):
    """Number of compute nodes on record with one owner and one reason.

    :ivar host: the owner; ``None`` for nodes without one.
    :ivar reason: a code of :class:`reasons.Reason`.
    :ivar instances: those with an instance.
    :ivar unavailable: those without an instance that nothing could be
        scheduled to when their owner last evaluated them.
    :ivar released_by: the service that released them for another.
    """

    host: str | None
    reason: str
    nodes: int
    instances: int
    unavailable: int
    released_by: str | None = None


def nodes_of(shard: str | None, conductor_group: str | None) -> str:
    """Return the nodes of a place in words; ``None`` is any."""
    found = [
        f'{word} {value!r}'
        for word, value in (
            ('shard', shard),
            ('conductor group', conductor_group),
        )
        if value is not None
    ]
    return f'nodes of {" and ".join(found)}' if found else 'all nodes'


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """A time in which no node in a scope changes owner automatically.

    Operators still move nodes, and a node without an owner gets one.

    :param request_id: of the request that began it.
    :param shard: of the nodes, exactly; ``None`` for those of any.
    :param conductor_group: of the nodes, in lower case; ``None`` for those of
        any.
    :param began_at: seconds since the epoch, by the database's clock.
    :param ends_at: likewise.
    """

    request_id: str
    shard: str | None
    conductor_group: str | None
    began_at: float
    ends_at: float
    actor: str
    reason: str

    def covers(self, shard: str | None, conductor_group: str) -> bool:
        """Tell whether nodes of a place keep their owner."""
        scope = model.Scope(self.shard, self.conductor_group)
        return scope.matches(shard, conductor_group)

    @property
    def scope(self) -> str:
        """The nodes that keep their owner, in words."""
        return nodes_of(self.shard, self.conductor_group)


Change = Claim | Release | Update | BeginDeletion | Delete | Report


def hands_over(change: Change) -> bool:
    """Tell whether a change is part of a change of owner."""
    return isinstance(change, Release) or (
        isinstance(change, Claim) and change.seen_host is not None
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """Limits of automatic changes of owner in the whole deployment.

    :param rate: nodes in a minute; 0 for any number.
    :param share: of the nodes of a shard, and of those of a conductor group,
        that may be without an owner before another one is released; 1 for any
        number. One node may always be.
    """

    rate: int = 0
    share: float = 1.0

    @property
    def is_limited(self) -> bool:
        """True if it limits anything."""
        return self.rate > 0 or self.share < 1


UNLIMITED = Budget()


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a batch of changes."""

    applied: tuple[Change, ...] = ()
    refused: tuple[Change, ...] = ()
    """Lost a race: the record was no longer as it had been seen."""
    fenced: tuple[str, ...] = ()
    """Hosts that lost their right to write, because of a claim."""
    paused: tuple[Change, ...] = ()
    """Changes of owner that wait for the end of a pause."""
    delayed: tuple[Change, ...] = ()
    """Changes of owner that wait for the budget."""
    retry_in: float = 0.0
    """Seconds after which the rate allows another one."""


class Companion(Protocol):
    """Tables of another program that change together with the records.

    An entry point of the group ``ironic_ownership.companions`` is a module
    that is loaded where the configuration has the group of its name. Its
    ``OPTS`` are the options of that group; ``open_companion(conf, database)``
    returns a companion, or ``None`` if they configure none. A module may have
    ``common_options(conf)``, which returns the lines of the configuration that
    all processes of a deployment need alike.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsError` when the database does not answer.

    :ivar transactions: a ``db.linked_tables.LinkedTables``.
    """

    transactions: Any

    def follow_settings(self, actor: str) -> None:
        """Write settings of services that were changed there on record."""

    def try_to_follow_settings(self, actor: str) -> None:
        """Do the same; a refresh repeats what fails."""

    def correct(self, host: str, epoch: int) -> Collection[str]:
        """Correct rows of a service's nodes that do not follow its records.

        :returns: the uuids of nodes that must not be served.
        :raises FencedError: if the epoch is no longer the current one.
        """

    def read(
        self,
        attempt: Callable[..., Any],
        placement: Callable[[], Any],
    ) -> Any:
        """Read what its checks evaluate.

        :param attempt: takes a part and a function that reads of it; returns
            ``None`` if the part does not answer.
        :param placement: returns the client of Placement, if there is one.
        :returns: an object whose ``checks`` are those of ``check``.
        """
