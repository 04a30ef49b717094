"""Decide, change by change, what a batch may write: the rules of the records.

Pure: takes the rows that the transaction holds locked, and collects the rows
to write. No SQL, no clock. A batch names every node at most once.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model, reasons, records, texts
from ironic_ownership.contracts.events import EventKind, Origin
from ironic_ownership.db import rows
from ironic_ownership.db.linked_tables import NOTHING, LockedNodes

# Not oslo.log, which no command needs to import.
LOG = logging.getLogger(__name__)

Row = dict[str, Any]

BEING_DELETED: Row = {
    'reason': reasons.Reason.BEING_DELETED.value,
    # The provider goes; of a node that returns, its owner reports it.
    'placement_digest': None,
}
"""Columns of a record that is being deleted."""

NOT_RELEASED: Row = dict.fromkeys(('released_by', 'held_by', 'held_until'))
"""Columns of a record that has an owner."""

_FIXED = ('uuid', 'created_at')
"""Columns of a node's row that are written once."""


@dataclasses.dataclass(frozen=True, slots=True)
class ServiceState:
    """Columns of a service that decide what may be written.

    :param revision: that the row gets in the transaction.
    """

    epoch: int
    fenced: bool
    disabled: bool = False
    forced_down: bool = False
    away_until: float | None = None
    grace: float | None = None
    registered: bool = True
    revision: int = 0

    def is_away(self, now: float) -> bool:
        is_away = rows.is_away(self.away_until, self.grace, now)
        return is_away and not self.forced_down


@dataclasses.dataclass(slots=True)
class Writes:
    """The rows to write, collected so that few statements suffice."""

    new_nodes: list[Row] = dataclasses.field(default_factory=list)
    nodes: list[Row] = dataclasses.field(default_factory=list)
    new_instances: list[Row] = dataclasses.field(default_factory=list)
    closed_on: list[str] = dataclasses.field(default_factory=list)
    """Uuids of the nodes whose open instance ends."""
    moved_on: list[str] = dataclasses.field(default_factory=list)
    """Uuids of the nodes whose open instance follows to the new owner."""
    claimed: list[str] = dataclasses.field(default_factory=list)
    deleted: list[str] = dataclasses.field(default_factory=list)
    fenced: dict[str, str] = dataclasses.field(default_factory=dict)
    """Dead services, each with the cause."""
    events: list[Row] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class ChangeSet:
    """The locked rows of one transaction, and the writes they allow.

    :param host: the service that writes; its right to write was checked.
    :param now: seconds since the epoch, by the database's clock.
    :param services: the owners that claims name, by host.
    :param nodes: rows of ``compute_nodes``, by uuid, deleted ones too.
    :param open_instances: uuid of the open instance, by the node's uuid.
    :param linked_nodes: rows of the linked tables.
    :param origin: the request of an operator; ``None`` for changes of the
        service itself.
    """

    host: str
    now: float
    services: Mapping[str, ServiceState]
    nodes: Mapping[str, Row]
    open_instances: Mapping[str, str]
    linked_nodes: LockedNodes = NOTHING
    origin: Origin | None = None
    writes: Writes = dataclasses.field(init=False, default_factory=Writes)
    _taken: dict[str, tuple[int, str]] = dataclasses.field(
        init=False, default_factory=dict
    )

    def accept(self, change: records.Change) -> bool:
        """Add the writes of a change; ``False`` if it does not fit."""
        match change:
            case records.Claim():
                return self._claim(change)
            case records.Update():
                return self._update(change)
            case records.Report():
                return self._report(change)
            case _:
                return self._give_up(change)

    def node_updates(self) -> Iterable[tuple[Row, Sequence[str]]]:
        """Yield changed columns of ``compute_nodes``, and the nodes' uuids.

        Nodes with the same changes come together, for few statements.
        """
        alike: dict[tuple[tuple[str, Any], ...], list[str]] = {}
        for row in self.writes.nodes:
            before = self.nodes[row['uuid']]
            values = tuple(
                (name, value)
                for name, value in row.items()
                if name not in _FIXED and value != before[name]
            )
            alike.setdefault(values, []).append(row['uuid'])
        for values, uuids in alike.items():
            if values:
                yield dict(values), uuids

    def with_other_instance(self) -> set[str]:
        """Return the nodes on record that get or lose an instance."""
        opened = {row['node_uuid'] for row in self.writes.new_instances}
        return (opened & self.nodes.keys()).union(self.writes.closed_on)

    def _owner(self, uuid: str) -> str | None:
        row = self.nodes.get(uuid)
        if row is None or row['deleted_at'] is not None:
            return None
        owner: str | None = row['host']
        return owner

    def _claim(self, claim: records.Claim) -> bool:  # Model: Claim
        node, seen = claim.node, claim.seen_host
        if self._owner(node.uuid) != seen:
            return False
        row = self.nodes.get(node.uuid)
        if is_being_deleted(row) and not claim.seen_deletion:
            return False
        objection = rows.against_held(
            row, self.now
        ) or self.linked_nodes.against_claim(node.uuid, self.host)
        if _is_refused(claim, objection):
            return False
        if seen not in (None, self.host):
            if not self._may_take_from(claim):
                return False
            self._take_over(seen, claim.cause or 'no cause given')
        self.writes.claimed.append(node.uuid)
        written = {
            'uuid': node.uuid,
            'host': self.host,
            'reason': claim.reason.value,
            'created_at': self.now,
            'updated_at': self.now,
            # A node that returns gets its record back.
            'deleted_at': None,
            **attributes(node),
            **rows.availability_columns(row, claim.availability, self.now),
            'placement_digest': row['placement_digest'] if row else None,
            **NOT_RELEASED,
        }
        (self.writes.new_nodes if row is None else self.writes.nodes).append(
            written
        )
        if seen != self.host:
            self._event(
                EventKind.OWNER_CHANGED,
                node_uuid=node.uuid,
                from_host=seen,
                to_host=self.host,
                reason=': '.join(filter(None, (claim.reason, claim.note))),
            )
        if node.instance_uuid not in (
            None,
            self.open_instances.get(node.uuid),
        ):
            self._set_instance(node, reasons.Reason.ADOPTED.value)
        elif node.uuid in self.open_instances:
            self.writes.moved_on.append(node.uuid)
        self._availability_event(row, claim.availability)
        return True

    def _may_take_from(self, claim: records.Claim) -> bool:  # Model: MayTake
        if claim.node.instance_uuid or claim.uuid in self.open_instances:
            # Law 2, regardless of the decision: only an operator moves it.
            return False
        owner = self.services.get(str(claim.seen_host))
        if owner is None:
            return claim.seen_epoch is None
        if owner.is_away(self.now):
            # It was stopped for a while, perhaps only a moment ago.
            return False
        if not (owner.registered or owner.forced_down):
            # Perhaps it is served by a program that does not register.
            return False
        # With another epoch it has registered since it was found dead.
        return owner.fenced or owner.epoch == claim.seen_epoch

    def _take_over(self, host: str, cause: str) -> None:
        number, _ = self._taken.get(host, (0, cause))
        self._taken[host] = number + 1, cause
        self._fence(host, cause)

    def _fence(self, host: str, cause: str) -> None:
        owner = self.services.get(host)
        if owner is None or owner.fenced or host in self.writes.fenced:
            return
        self.writes.fenced[host] = cause
        self._event(
            EventKind.SERVICE_FENCED,
            from_host=host,
            reason=f'{cause}, seen missing by {self.host}',
        )

    def finish(self) -> None:
        """Add one event for each service whose nodes were claimed."""
        for host, (number, cause) in sorted(self._taken.items()):
            self._event(
                EventKind.NODES_TAKEN_OVER,
                from_host=host,
                to_host=self.host,
                reason=f'{texts.counted(number, "free node")}; {cause}',
            )

    def _update(self, update: records.Update) -> bool:
        node = update.node
        if self._owner(node.uuid) != self.host:
            return False
        row = self.nodes[node.uuid]
        described = attributes(node)
        available = rows.availability_columns(
            row, update.availability, self.now
        )
        if any(row[name] != value for name, value in described.items()):
            self._rewrite(row, **described, **available)
        elif row['unavailable'] != available['unavailable']:
            self._rewrite(row, **available)
        self._set_instance(node, None)
        self._availability_event(row, update.availability)
        return True

    def _availability_event(
        self, row: Row | None, evaluation: reasons.Evaluation | None
    ) -> None:
        reason = rows.event_reason(row, evaluation)
        if row is not None and reason is not None:
            self._event(
                EventKind.AVAILABILITY_CHANGED,
                node_uuid=row['uuid'],
                reason=reason,
            )

    def _give_up(  # Model: Release
        self, change: records.Release | records.BeginDeletion | records.Delete
    ) -> bool:
        uuid = change.uuid
        if self._owner(uuid) != self.host or uuid in self.open_instances:
            return False
        if isinstance(change, records.Release):
            objection = self.linked_nodes.against_release(uuid)
        else:
            objection = self.linked_nodes.against_deletion(uuid, self.host)
        if _is_refused(change, objection):
            return False
        if isinstance(change, records.BeginDeletion):
            self._rewrite(self.nodes[uuid], **BEING_DELETED)
            return True
        kind = EventKind.OWNER_CHANGED
        values: Row = {'released_by': self.host}
        if isinstance(change, records.Delete):
            self.writes.deleted.append(uuid)
            kind = EventKind.NODE_FORGOTTEN
            # Its provider was deleted before.
            values = {
                'deleted_at': self.now,
                'placement_digest': None,
                'released_by': None,
            }
        reason = change.reason.value
        self._rewrite(self.nodes[uuid], host=None, reason=reason, **values)
        self._event(kind, node_uuid=uuid, from_host=self.host, reason=reason)
        return True

    def _report(self, report: records.Report) -> bool:
        if self._owner(report.uuid) != self.host:
            return False
        row = self.nodes[report.uuid]
        # The node itself has not changed, so ``updated_at`` stays.
        self.writes.nodes.append({**row, 'placement_digest': report.digest})
        return True

    def _rewrite(self, row: Row, **changed: Any) -> None:
        self.writes.nodes.append({**row, 'updated_at': self.now, **changed})

    def _set_instance(self, node: model.Node, reason: str | None) -> None:
        before, after = self.open_instances.get(node.uuid), node.instance_uuid
        if before == after:
            return
        if before is not None:
            self.writes.closed_on.append(node.uuid)
            self._event(
                EventKind.INSTANCE_CLOSED,
                node_uuid=node.uuid,
                from_host=self.host,
                instance_uuid=before,
            )
        if after is not None:
            self.writes.new_instances.append(
                rows.new_instance(
                    after, node.uuid, self.host, self.now, reason
                )
            )
            self._event(
                EventKind.INSTANCE_OPENED,
                node_uuid=node.uuid,
                to_host=self.host,
                instance_uuid=after,
                reason=reason,
            )

    def _event(self, kind: EventKind, **values: Any) -> None:
        origin = self.origin or Origin(self.host)
        event = rows.new_event(self.now, origin, kind, **values)
        self.writes.events.append(event)


def _is_refused(change: records.Change, objection: str | None) -> bool:
    if objection is not None:
        LOG.debug(
            '%s of %s refused: %s',
            type(change).__name__,
            change.uuid,
            objection,
        )
    return objection is not None


def is_being_deleted(row: Row | None) -> bool:
    """Tell whether only one who has seen that may claim the node."""
    return row is not None and row['reason'] == BEING_DELETED['reason']


def attributes(node: model.Node) -> Row:
    """Return the columns that describe a node as Ironic does."""
    return {
        'name': node.name,
        'driver': node.driver,
        'shard': node.shard,
        'conductor_group': node.conductor_group,
    }
