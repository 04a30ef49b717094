"""Columns of compute nodes on record."""

from __future__ import annotations

from ironic_ownership.engine.queries.recorded_nodes import RecordedNode
from ironic_ownership.observe import columns

_Column = columns.Column[RecordedNode]

COLUMNS = (
    _Column('uuid', lambda n: n.record.uuid),
    _Column('name', lambda n: n.record.name),
    _Column('service', lambda n: n.record.host),
    _Column('state', lambda n: n.state),
    _Column('instance_uuid', lambda n: n.record.instance_uuid),
    _Column('shard', lambda n: n.record.shard),
    _Column('conductor_group', lambda n: n.record.conductor_group),
    _Column('reason', lambda n: n.record.reason.value),
    _Column('unavailable', lambda n: n.record.unavailable),
    _Column('seen_at', lambda n: columns.moment(n.seen_at)),
)
