"""Status reports of services: their view, a refused configuration.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns to the services; both may be unknown."""
    op.add_column('services', sa.Column('view_checksum', sa.String(64)))
    op.add_column('services', sa.Column('config_error', sa.Text()))
