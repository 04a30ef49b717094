"""Shards of moves.

Revision ID: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0020'
down_revision = '0019'


def upgrade() -> None:
    """Add a column that older processes neither read nor write."""
    op.add_column('moves', sa.Column('shard', sa.String(255)))
