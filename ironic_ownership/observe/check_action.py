"""Columns of a node that its owner may act on."""

from __future__ import annotations

from ironic_ownership.engine.queries.action_check import Allowed
from ironic_ownership.observe import columns

_Column = columns.Column[Allowed]

COLUMNS = (
    _Column('uuid', lambda a: a.uuid),
    _Column('name', lambda a: a.name),
    _Column('service', lambda a: a.host),
    _Column('driver', lambda a: a.driver),
    _Column('conductor_group', lambda a: a.conductor_group),
)
