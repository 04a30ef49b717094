"""Length of the grace period of a clean stop.

Revision ID: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0024'
down_revision = '0023'


def upgrade() -> None:
    """Add a column; releases before leave it empty, and it bounds nothing."""
    op.add_column('services', sa.Column('grace', sa.Double))
