"""Creators of reservations.

Revision ID: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0016'
down_revision = '0015'


def upgrade() -> None:
    """Add a column that older processes neither read nor write."""
    op.add_column('reservations', sa.Column('creator', sa.String(255)))
