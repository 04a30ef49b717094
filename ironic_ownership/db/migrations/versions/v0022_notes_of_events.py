"""Notes of events.

Revision ID: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0022'
down_revision = '0021'


def upgrade() -> None:
    """Add a column that older processes neither read nor write."""
    op.add_column('events', sa.Column('note', sa.String(255)))
