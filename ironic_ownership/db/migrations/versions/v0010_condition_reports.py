"""Reports of the conditions of services: what keeps a loop from its work.

Revision ID: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; older processes neither read nor write it."""
    op.create_table(
        'condition_reports',
        sa.Column('host', sa.String(255), primary_key=True),
        sa.Column('incarnation', sa.String(64), nullable=False),
        sa.Column('reported_at', sa.Double(), nullable=False),
        sa.Column('due_after', sa.Double(), nullable=False),
        sa.Column('conditions', sa.Text(), nullable=False),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
