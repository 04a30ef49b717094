"""Columns of events."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns

_Column = columns.Column[model.Event]

SHORT = (
    _Column('at', lambda e: columns.moment(e.at)),
    _Column('kind', lambda e: e.kind),
    _Column('actor', lambda e: e.actor),
    _Column('from_host', lambda e: e.from_host),
    _Column('to_host', lambda e: e.to_host),
    _Column('node_uuid', lambda e: e.node_uuid),
    _Column('reason', lambda e: e.reason),
)
LONG = (
    *SHORT,
    _Column('instance_uuid', lambda e: e.instance_uuid),
    _Column('request_id', lambda e: e.request_id),
    _Column('id', lambda e: e.id),
)
