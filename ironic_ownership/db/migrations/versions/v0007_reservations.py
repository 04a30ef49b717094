"""Reservations: nodes that are held for instances, and those that were.

Revision ID: 0007
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None

_UUID = sa.String(36)
_EXACT: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        'reservations',
        sa.Column(
            'number',
            sa.BigInteger().with_variant(sa.Integer(), 'sqlite'),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column('id', _UUID, nullable=False),
        sa.Column('instance_uuid', _UUID, nullable=False),
        sa.Column('open_instance_uuid', _UUID),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('node_uuid', _UUID),
        sa.Column('state', sa.String(64), nullable=False),
        sa.Column('method', sa.String(64), nullable=False),
        sa.Column('request', sa.Text, nullable=False),
        sa.Column('confirmed', sa.Boolean, nullable=False),
        sa.Column('detail', sa.Text),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.Column('expires_at', sa.Double),
        sa.UniqueConstraint('id', name='uq_reservations_id'),
        sa.UniqueConstraint(
            'open_instance_uuid', name='uq_reservations_open_instance_uuid'
        ),
        sa.Index('ix_reservations_host', 'host', 'state'),
        **_EXACT,
    )
