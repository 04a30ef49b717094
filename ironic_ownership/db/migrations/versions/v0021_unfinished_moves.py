"""Unfinished moves are found by an index.

Revision ID: 0021
"""

from __future__ import annotations

from alembic import op

revision = '0021'
down_revision = '0020'


def upgrade() -> None:
    """Replace an index by one that begins with the same column."""
    columns = ['state', 'trial', 'request_id']
    op.create_index('ix_node_moves_unfinished', 'node_moves', columns)
    op.drop_index('ix_node_moves_state', 'node_moves')
