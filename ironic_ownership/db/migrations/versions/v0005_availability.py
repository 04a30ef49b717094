"""Availability: the reason why nothing can be scheduled to a node.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns: until its owner evaluates it, a node is available."""
    op.add_column('compute_nodes', sa.Column('unavailable', sa.String(64)))
    op.add_column('compute_nodes', sa.Column('unavailable_since', sa.Double()))
