"""Reservations are found by their node, and hold requests of any size.

Revision ID: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from ironic_ownership.db.dialects import MYSQL

revision = '0023'
down_revision = '0022'


def upgrade() -> None:
    """Add an index, and make a column of MariaDB longer than 64 KB."""
    columns = ['node_uuid', 'open_instance_uuid']
    op.create_index('ix_reservations_node', 'reservations', columns)
    if op.get_bind().dialect.name in MYSQL:
        op.alter_column(
            'reservations',
            'request',
            type_=sa.Text(4_000_000),
            existing_nullable=False,
        )
