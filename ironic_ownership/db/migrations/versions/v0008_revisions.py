"""Revisions: every transaction that decides from a service changes its row.

Revision ID: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a counter to the services; it starts at 0."""
    op.add_column(
        'services',
        sa.Column(
            'revision', sa.BigInteger(), nullable=False, server_default='0'
        ),
    )
    # The service that released an unowned node.
    op.add_column('compute_nodes', sa.Column('released_by', sa.String(255)))
