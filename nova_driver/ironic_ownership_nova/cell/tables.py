"""The columns of a Nova cell that the records depend on, in its schema.

As in Nova 34. A row is deleted when ``deleted`` is its own id.
"""

from __future__ import annotations

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import compiler
from sqlalchemy.sql import expression

HYPERVISOR_TYPE = 'ironic'
BINARY = 'nova-compute'

WRITTEN = {
    'compute_nodes': (
        'host',
        'service_id',
        'deleted',
        'deleted_at',
        'mapped',
        'updated_at',
    ),
    'instances': ('host', 'updated_at'),
    'services': ('disabled', 'disabled_reason', 'forced_down'),
}
"""The columns that are written, by table."""


class SecondsAgo(expression.FunctionElement[datetime.datetime]):
    """A moment by the clock of the server, as Nova writes times.

    Its argument is a number of seconds.
    """

    type = sa.DateTime()
    inherit_cache = True


@compiler.compiles(SecondsAgo, 'postgresql')
def _postgresql(element: SecondsAgo, visitor: Any, **kw: Any) -> str:
    seconds = visitor.process(element.clauses, **kw)
    now = "clock_timestamp() AT TIME ZONE 'UTC'"
    return f'({now} - make_interval(secs => {seconds}))'


@compiler.compiles(SecondsAgo)
def _mariadb(element: SecondsAgo, visitor: Any, **kw: Any) -> str:
    seconds = visitor.process(element.clauses, **kw)
    return f'(UTC_TIMESTAMP() - INTERVAL {seconds} SECOND)'


class CellTables:
    """The three tables, with qualified names.

    :param schema: name of the schema of the cell.
    """

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.metadata = sa.MetaData(schema=schema)
        self.services = self._table(
            'services',
            sa.Column('host', sa.String(255)),
            sa.Column('binary', sa.String(255)),
            sa.Column('disabled', sa.Boolean),
            sa.Column('disabled_reason', sa.String(255)),
            sa.Column('forced_down', sa.Boolean),
            sa.Column('last_seen_up', sa.DateTime),
        )
        self.compute_nodes = self._table(
            'compute_nodes',
            sa.Column('uuid', sa.String(36)),
            sa.Column('host', sa.String(255)),
            sa.Column('service_id', sa.Integer),
            sa.Column('hypervisor_type', sa.Text),
            sa.Column('hypervisor_hostname', sa.String(255)),
            sa.Column('mapped', sa.Integer),
        )
        self.instances = self._table(
            'instances',
            sa.Column('uuid', sa.String(36)),
            sa.Column('host', sa.String(255)),
            sa.Column('node', sa.String(255)),
            sa.Column('vm_state', sa.String(255)),
            sa.Column('task_state', sa.String(255)),
        )

    def _table(self, name: str, *columns: sa.Column[Any]) -> sa.Table:
        return sa.Table(
            name,
            self.metadata,
            sa.Column('id', sa.Integer, primary_key=True),
            *columns,
            sa.Column('updated_at', sa.DateTime),
            sa.Column('deleted_at', sa.DateTime),
            sa.Column('deleted', sa.Integer),
        )

    @property
    def is_compute(self) -> sa.ColumnElement[bool]:
        """Services that Nova did not delete, and that run nova-compute."""
        columns = self.services.c
        return (columns.binary == BINARY) & (columns.deleted == 0)

    @property
    def is_of_ironic(self) -> sa.ColumnElement[bool]:
        """Compute nodes that are nodes of Ironic, deleted or not."""
        return self.compute_nodes.c.hypervisor_type == HYPERVISOR_TYPE

    @property
    def is_stray(self) -> sa.ColumnElement[bool]:
        """Compute nodes whose uuid is not that of their node."""
        node = self.compute_nodes.c
        return (node.deleted == 0) & (
            sa.func.coalesce(node.uuid, '') != node.hypervisor_hostname
        )
