"""Nodes that an operator released, and no service may claim yet.

Revision ID: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0012'
down_revision = '0011'


def upgrade() -> None:
    """Add two columns; older processes neither read nor write them."""
    op.add_column('compute_nodes', sa.Column('held_by', sa.String(64)))
    op.add_column('compute_nodes', sa.Column('held_until', sa.Double()))
