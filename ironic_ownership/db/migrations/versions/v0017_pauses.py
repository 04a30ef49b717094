"""Pauses of automatic changes of owner.

Revision ID: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0017'
down_revision = '0016'


def upgrade() -> None:
    """Add a table; processes of the release before ignore pauses."""
    op.create_table(
        'pauses',
        sa.Column('request_id', sa.String(64), primary_key=True),
        sa.Column('shard', sa.String(255)),
        sa.Column('conductor_group', sa.String(255)),
        sa.Column('began_at', sa.Double(), nullable=False),
        sa.Column('ends_at', sa.Double(), nullable=False),
        sa.Column('actor', sa.String(255), nullable=False),
        sa.Column('reason', sa.String(255), nullable=False),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
