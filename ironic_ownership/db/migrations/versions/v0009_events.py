"""Events with a request id, and indexes to list and to purge.

Revision ID: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

_INDEXES = (
    ('events', 'at', ('at', 'id')),
    ('events', 'from_host', ('from_host',)),
    ('events', 'to_host', ('to_host',)),
    ('events', 'request_id', ('request_id',)),
    ('compute_nodes', 'deleted_at', ('deleted_at',)),
    ('instances', 'deleted_at', ('deleted_at',)),
    ('moves', 'created_at', ('created_at',)),
    ('reservations', 'state', ('state', 'updated_at')),
)
"""Table, end of the name, columns."""


def upgrade() -> None:
    """Add a column that may be empty, and the indexes."""
    op.add_column('events', sa.Column('request_id', sa.String(64)))
    for table, name, columns in _INDEXES:
        op.create_index(f'ix_{table}_{name}', table, list(columns))
