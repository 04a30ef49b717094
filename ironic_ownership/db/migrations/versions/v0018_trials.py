"""Trials of moves.

Revision ID: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'


def upgrade() -> None:
    """Add a column; processes of the release before ignore trials."""
    op.add_column('node_moves', sa.Column('trial', sa.String(64)))
