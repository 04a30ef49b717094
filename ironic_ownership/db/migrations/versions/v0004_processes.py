"""Processes: each is a member; a service has an active one, and may be away.

Revision ID: 0004
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None

_EXACT: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    """Add two columns to the services; replace the members' table.

    No row of it outlives a time to live, and every live process joins
    again.
    """
    op.add_column('services', sa.Column('incarnation', sa.String(64)))
    op.add_column('services', sa.Column('away_until', sa.Double()))
    op.drop_table('members')
    op.create_table(
        'members',
        sa.Column('host', sa.String(255), primary_key=True),
        sa.Column('incarnation', sa.String(64), primary_key=True),
        sa.Column('settings', sa.Text, nullable=False),
        sa.Column('joined_at', sa.Double, nullable=False),
        sa.Column('expires_at', sa.Double, nullable=False),
        **_EXACT,
    )
