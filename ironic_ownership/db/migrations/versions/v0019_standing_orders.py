"""Standing orders for the deployed nodes of services.

Revision ID: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0019'
down_revision = '0018'


def upgrade() -> None:
    """Add columns; processes of the release before ignore them."""
    for column in (
        sa.Column('standing_order', sa.Text()),
        sa.Column('fence_epoch', sa.BigInteger()),
        sa.Column('fence_seen_at', sa.Double()),
    ):
        op.add_column('services', column)
    op.add_column(
        'moves',
        sa.Column(
            'automatic',
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
        ),
    )
