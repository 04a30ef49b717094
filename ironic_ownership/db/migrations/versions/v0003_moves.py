"""Moves: changes of owner that operators make, and their nodes.

Revision ID: 0003
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None

_HOST = sa.String(255)
_UUID = sa.String(36)
_COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
_EXACT: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        'moves',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('request_id', sa.String(64), nullable=False),
        sa.Column('destination', _HOST, nullable=False),
        sa.Column('actor', _HOST, nullable=False),
        sa.Column('reason', sa.Text),
        sa.Column('overrides', sa.Text, nullable=False),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.UniqueConstraint('request_id', name='uq_moves_request_id'),
        **_EXACT,
    )
    op.create_table(
        'node_moves',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('request_id', sa.String(64), nullable=False),
        sa.Column('node_uuid', _UUID, nullable=False),
        sa.Column('source', _HOST),
        sa.Column('source_epoch', sa.BigInteger),
        sa.Column('instance_uuid', _UUID),
        sa.Column('state', sa.String(64), nullable=False),
        sa.Column('detail', sa.Text),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.UniqueConstraint(
            'request_id', 'node_uuid', name='uq_node_moves_node'
        ),
        sa.ForeignKeyConstraint(
            ['request_id'],
            ['moves.request_id'],
            name='fk_node_moves_request_id',
        ),
        sa.Index('ix_node_moves_state', 'state'),
        **_EXACT,
    )
