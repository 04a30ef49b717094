"""Decide, change by change, what a batch may write: the rules of the records.

Pure: it gets the rows that the transaction holds locked and says what to
write. No SQL, no clock. A batch names every node at most once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import availability, model, reasons, records
from ironic_ownership.db import availability_columns

Row = dict[str, Any]

_FIXED = ('uuid', 'created_at')
"""Columns of a node's row that are written once."""

OWNER_CHANGED = 'owner_changed'
INSTANCE_OPENED = 'instance_opened'
INSTANCE_CLOSED = 'instance_closed'
SERVICE_REGISTERED = 'service_registered'
SERVICE_RETIRED = 'service_retired'
SERVICE_FAILED_OVER = 'service_failed_over'
SERVICE_FENCED = 'service_fenced'
SERVICE_CHANGED = 'service_changed'
SERVICE_FORCED_DOWN = 'service_forced_down'
SERVICE_DELETED = 'service_deleted'
NODE_FORGOTTEN = 'node_forgotten'
NODE_MOVED = 'node_moved'
NODE_RESERVED = 'node_reserved'
NODE_RELEASED = 'node_released'
AVAILABILITY_CHANGED = 'availability_changed'


@dataclasses.dataclass(frozen=True, slots=True)
class ServiceState:
    """What a claim has to know of the owner on record.

    :param away_until: seconds since the epoch; ``None`` for a service that
        is not expected back.
    """

    epoch: int
    fenced: bool
    forced_down: bool = False
    away_until: float | None = None

    def is_away(self, now: float) -> bool:
        """Tell whether the service is expected back."""
        return (
            self.away_until is not None
            and self.away_until > now
            and not self.forced_down
        )


@dataclasses.dataclass(slots=True)
class Writes:
    """What is to be written, gathered so that few statements do it."""

    new_nodes: list[Row] = dataclasses.field(default_factory=list)
    nodes: list[Row] = dataclasses.field(default_factory=list)
    new_instances: list[Row] = dataclasses.field(default_factory=list)
    closed_on: list[str] = dataclasses.field(default_factory=list)
    """Uuids of the nodes whose open instance ends."""
    moved_on: list[str] = dataclasses.field(default_factory=list)
    """Uuids of the nodes whose open instance follows to the new owner."""
    fenced: list[str] = dataclasses.field(default_factory=list)
    events: list[Row] = dataclasses.field(default_factory=list)


class Ledger:
    """The locked rows of one transaction, and what becomes of them.

    :param host: the service that writes; its right to was checked before.
    :param now: seconds since the epoch, by the database's clock.
    :param services: the owners that claims name, by host.
    :param nodes: rows of ``compute_nodes``, by uuid, deleted ones too.
    :param open_instances: uuid of the open instance, by the node's uuid.
    """

    def __init__(
        self,
        host: str,
        now: float,
        services: Mapping[str, ServiceState],
        nodes: Mapping[str, Row],
        open_instances: Mapping[str, str],
    ) -> None:
        self.host = host
        self.now = now
        self.writes = Writes()
        self._services = services
        self._nodes = nodes
        self._open = open_instances

    def accept(self, change: records.Change) -> bool:
        """Add what a change writes, or refuse it.

        :returns: whether the record was as the change expects it.
        """
        match change:
            case records.Claim():
                return self._claim(change)
            case records.Update():
                return self._update(change)
            case records.Release():
                return self._release(change)
            case records.Forget():
                return self._forget(change)
            case records.Report():
                return self._report(change)

    def rewritten(self) -> Iterable[tuple[Row, Sequence[str]]]:
        """Yield what changes in rows of ``compute_nodes``, and in which.

        Rows that change alike come together: when thousands of nodes change
        their owner, one statement a batch does it.
        """
        alike: dict[tuple[tuple[str, Any], ...], list[str]] = {}
        for row in self.writes.nodes:
            before = self._nodes[row['uuid']]
            values = tuple(
                (name, value)
                for name, value in row.items()
                if name not in _FIXED and value != before[name]
            )
            alike.setdefault(values, []).append(row['uuid'])
        for values, uuids in alike.items():
            if values:
                yield dict(values), uuids

    def _owner(self, uuid: str) -> str | None:
        row = self._nodes.get(uuid)
        if row is None or row['deleted_at'] is not None:
            return None
        owner: str | None = row['host']
        return owner

    def _claim(self, claim: records.Claim) -> bool:
        node, seen = claim.node, claim.seen_host
        if self._owner(node.uuid) != seen:
            return False
        from_other = seen is not None and seen != self.host
        if from_other and not self._may_take_from(claim):
            return False
        if from_other:
            self._fence(str(seen))
        row = self._nodes.get(node.uuid)
        written = {
            'uuid': node.uuid,
            'host': self.host,
            'reason': claim.reason.value,
            # Written with a new row only.
            'created_at': self.now,
            'updated_at': self.now,
            'deleted_at': None,
            **_attributes(node),
            **availability_columns.columns(row, claim.verdict, self.now),
            'placement_digest': row['placement_digest'] if row else None,
        }
        (self.writes.new_nodes if row is None else self.writes.nodes).append(
            written
        )
        if seen != self.host:
            self._event(
                OWNER_CHANGED,
                node_uuid=node.uuid,
                from_host=seen,
                to_host=self.host,
                reason=claim.reason.value,
            )
        if node.instance_uuid not in (None, self._open.get(node.uuid)):
            self._instance_is(node, reasons.Reason.ADOPTED.value)
        elif node.uuid in self._open:
            self.writes.moved_on.append(node.uuid)
        self._tell_verdict(row, claim.verdict)
        return True

    def _may_take_from(self, claim: records.Claim) -> bool:
        """Tell whether the owner on record may lose the node to a claim."""
        if claim.node.instance_uuid or claim.uuid in self._open:
            # Law 2, whatever the decision was: only an operator moves it.
            return False
        owner = self._services.get(str(claim.seen_host))
        if owner is None:
            return claim.seen_epoch is None
        if owner.is_away(self.now):
            # It was stopped for a while, perhaps only a moment ago.
            return False
        return owner.fenced or owner.epoch == claim.seen_epoch

    def _fence(self, host: str) -> None:
        owner = self._services.get(host)
        if owner is None or owner.fenced or host in self.writes.fenced:
            return
        self.writes.fenced.append(host)
        self._event(SERVICE_FENCED, from_host=host)

    def _update(self, update: records.Update) -> bool:
        node = update.node
        if self._owner(node.uuid) != self.host:
            return False
        row = self._nodes[node.uuid]
        attributes = _attributes(node)
        judged = availability_columns.columns(row, update.verdict, self.now)
        if any(row[name] != value for name, value in attributes.items()):
            self._rewrite(row, **attributes, **judged)
        elif row['unavailable'] != judged['unavailable']:
            self._rewrite(row, **judged)
        self._instance_is(node, None)
        self._tell_verdict(row, update.verdict)
        return True

    def _tell_verdict(
        self, row: Row | None, verdict: availability.Verdict | None
    ) -> None:
        reason = availability_columns.told(row, verdict)
        if row is not None and reason is not None:
            self._event(
                AVAILABILITY_CHANGED, node_uuid=row['uuid'], reason=reason
            )

    def _release(self, release: records.Release) -> bool:
        if not self._is_free_and_mine(release.uuid):
            return False
        self._rewrite(
            self._nodes[release.uuid], host=None, reason=release.reason.value
        )
        self._event(
            OWNER_CHANGED,
            node_uuid=release.uuid,
            from_host=self.host,
            reason=release.reason.value,
        )
        return True

    def _forget(self, forget: records.Forget) -> bool:
        if not self._is_free_and_mine(forget.uuid):
            return False
        self._rewrite(
            self._nodes[forget.uuid],
            host=None,
            reason=forget.reason.value,
            deleted_at=self.now,
            # Its provider is gone by now.
            placement_digest=None,
        )
        self._event(
            NODE_FORGOTTEN,
            node_uuid=forget.uuid,
            from_host=self.host,
            reason=forget.reason.value,
        )
        return True

    def _report(self, report: records.Report) -> bool:
        if self._owner(report.uuid) != self.host:
            return False
        row = self._nodes[report.uuid]
        # Nothing of the node itself has changed, nor the time of it.
        self.writes.nodes.append({**row, 'placement_digest': report.digest})
        return True

    def _is_free_and_mine(self, uuid: str) -> bool:
        return self._owner(uuid) == self.host and uuid not in self._open

    def _rewrite(self, row: Row, **changed: Any) -> None:
        self.writes.nodes.append({**row, 'updated_at': self.now, **changed})

    def _instance_is(self, node: model.Node, reason: str | None) -> None:
        """Close what went and open what came."""
        before, after = self._open.get(node.uuid), node.instance_uuid
        if before == after:
            return
        if before is not None:
            self.writes.closed_on.append(node.uuid)
            self._event(
                INSTANCE_CLOSED,
                node_uuid=node.uuid,
                from_host=self.host,
                instance_uuid=before,
            )
        if after is not None:
            self.writes.new_instances.append(
                {
                    'uuid': after,
                    'node_uuid': node.uuid,
                    'open_node_uuid': node.uuid,
                    'host': self.host,
                    'created_at': self.now,
                    'reason': reason,
                }
            )
            self._event(
                INSTANCE_OPENED,
                node_uuid=node.uuid,
                to_host=self.host,
                instance_uuid=after,
                reason=reason,
            )

    def _event(self, kind: str, **values: Any) -> None:
        self.writes.events.append(event(self.now, self.host, kind, **values))


def event(at: float, actor: str, kind: str, **values: Any) -> Row:
    """Return a row of ``events``.

    :param at: seconds since the epoch.
    :param actor: the service that made the change.
    """
    columns = ('node_uuid', 'from_host', 'to_host', 'instance_uuid', 'reason')
    return {
        'at': at,
        'actor': actor,
        'kind': kind,
        **{name: values.get(name) for name in columns},
    }


def _attributes(node: model.Node) -> Row:
    return {
        'name': node.name,
        'driver': node.driver,
        'shard': node.shard,
        'conductor_group': node.conductor_group,
    }
