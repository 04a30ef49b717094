"""Columns of compute nodes, and cells of the events of their history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironic_ownership.contracts import model, reasons
from ironic_ownership.engine.queries.action_check import Allowed
from ironic_ownership.engine.queries.node_status import NodeStatus
from ironic_ownership.observe import columns


def place(status: NodeStatus) -> tuple[str | None, str]:
    """Return shard and conductor group: Ironic's, else the recorded ones."""
    known = status.node or status.record
    return (known.shard, known.conductor_group) if known else (None, '')


def reason(status: NodeStatus) -> reasons.Reason:
    """Return the reason code of the decision."""
    return status.reason


def unavailable(status: NodeStatus) -> str | None:
    """Return the code why nothing can be scheduled to the node."""
    code = status.availability.code if status.availability else None
    return code.value if code else None


def _instance(status: NodeStatus) -> str | None:
    if status.node is not None:
        return status.node.instance_uuid
    return status.record.instance_uuid if status.record else None


def _driver(status: NodeStatus) -> str | None:
    known = status.node or status.record
    return (known.driver if known else None) or None


def _of_node(key: str) -> columns.Column[NodeStatus]:
    return columns.Column(key, lambda s: getattr(s.node, key, None))


def _of_record(
    key: str, read: Callable[[model.ComputeNode], Any]
) -> columns.Column[NodeStatus]:
    return columns.Column(
        key, lambda status: read(status.record) if status.record else None
    )


def _contenders(status: NodeStatus) -> list[str]:
    return list(status.decision.contenders) if status.decision else []


_Column = columns.Column[NodeStatus]

SHORT = (
    _Column('uuid', lambda s: s.uuid),
    _Column('name', lambda s: s.name),
    _Column('service', lambda s: s.owner),
    _Column('state', lambda s: str(s.state)),
    _Column('instance_uuid', _instance),
    _Column('shard', lambda s: place(s)[0]),
    _Column('conductor_group', lambda s: place(s)[1]),
    _Column('reason', lambda s: reason(s).value),
    _Column('unavailable', unavailable),
)
_DECIDED = (
    _Column('decided_owner', lambda s: s.decision and s.decision.owner),
    _Column('wanted_by', lambda s: s.decision and s.decision.wanted_by),
    _Column('contenders', _contenders),
    _Column('service_alive', lambda s: s.owner_alive),
)

LONG = (
    *SHORT,
    _Column('driver', _driver),
    _of_node('provision_state'),
    _of_node('maintenance'),
    *_DECIDED,
)

DETAILS = (
    *SHORT,
    _Column(
        'unavailable_detail',
        lambda s: (s.availability.detail if s.availability else None) or None,
    ),
    _Column('explanation', lambda s: reason(s).help),
    *_DECIDED,
    _Column('driver', _driver),
    _of_node('resource_class'),
    _of_node('provision_state'),
    _of_node('power_state'),
    _of_node('maintenance'),
    _of_node('reservation'),
    _of_node('retired'),
    _of_record('recorded_reason', lambda r: r.reason.value),
    _of_record('recorded_instance_uuid', lambda r: r.instance_uuid),
    _of_record('recorded_unavailable', lambda r: r.unavailable),
    _of_record(
        'unavailable_since', lambda r: columns.moment(r.unavailable_since)
    ),
    _of_record('recorded_at', lambda r: columns.moment(r.updated_at)),
)

_Allowed = columns.Column[Allowed]

ACTION = (
    _Allowed('uuid', lambda a: a.uuid),
    _Allowed('name', lambda a: a.name),
    _Allowed('service', lambda a: a.host),
    _Allowed('driver', lambda a: a.driver),
    _Allowed('conductor_group', lambda a: a.conductor_group),
)
"""A node that its owner may act on."""


def event_cell(event: model.Event) -> dict[str, columns.Cell]:
    """Return an event as a dictionary without empty values."""
    row = {
        'at': columns.moment(event.at),
        'actor': event.actor,
        'kind': event.kind,
        'from_host': event.from_host,
        'to_host': event.to_host,
        'instance_uuid': event.instance_uuid,
        'reason': event.reason,
        'request_id': event.request_id,
    }
    return {key: value for key, value in row.items() if value is not None}
