"""Columns of compute nodes on record."""

from __future__ import annotations

import operator

from ironic_ownership.engine.queries.recorded_nodes import RecordedNode
from ironic_ownership.observe import columns

_Column = columns.Column[RecordedNode]


def _of_record(key: str, attribute: str) -> _Column:
    # Lists have 100,000 rows, and a function of our own takes twice as long.
    return _Column(key, operator.attrgetter(f'record.{attribute}'))


COLUMNS = (
    _of_record('uuid', 'uuid'),
    _of_record('name', 'name'),
    _of_record('service', 'host'),
    _Column('state', lambda n: n.state),
    _of_record('instance_uuid', 'instance_uuid'),
    _of_record('shard', 'shard'),
    _of_record('conductor_group', 'conductor_group'),
    _of_record('reason', 'reason.value'),
    _of_record('unavailable', 'unavailable'),
    _Column('seen_at', lambda n: columns.moment(n.seen_at)),
)
