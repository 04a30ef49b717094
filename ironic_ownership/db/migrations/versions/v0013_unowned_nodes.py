"""Index of the nodes without an owner by the time of their last change.

Revision ID: 0013
"""

from __future__ import annotations

from alembic import op

revision = '0013'
down_revision = '0012'


def upgrade() -> None:
    """Add the index; older processes do not need it."""
    op.create_index(
        'ix_compute_nodes_updated_at', 'compute_nodes', ['host', 'updated_at']
    )
