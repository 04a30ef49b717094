"""The outbox: until when the events were sent as notifications, and by whom.

Revision ID: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0014'
down_revision = '0013'


def upgrade() -> None:
    """Add a table, which older processes neither read nor write."""
    op.create_table(
        'outbox',
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('position', sa.Double(), nullable=False),
        sa.Column('sender', sa.String(255), nullable=False),
        sa.Column('sender_until', sa.Double(), nullable=False),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
