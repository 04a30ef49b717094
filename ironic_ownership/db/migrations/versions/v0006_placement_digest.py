"""Digest of the provider that Placement accepted for a node.

Revision ID: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column: a provider without a digest is reported again."""
    op.add_column(
        'compute_nodes', sa.Column('placement_digest', sa.String(64))
    )
