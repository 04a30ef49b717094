"""Marks: a record names the revision with which it changed.

Revision ID: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0015'
down_revision = '0014'


def upgrade() -> None:
    """Add columns that older processes neither read nor write, and indexes.

    The index on the host alone is part of the new one; that on the time of
    the last change has no reader in any release.
    """
    op.add_column(
        'services',
        sa.Column(
            'marked', sa.BigInteger(), nullable=False, server_default='0'
        ),
    )
    op.add_column('compute_nodes', sa.Column('revision_host', sa.String(255)))
    op.add_column('compute_nodes', sa.Column('revision', sa.BigInteger()))
    op.create_index(
        'ix_compute_nodes_revision',
        'compute_nodes',
        ['revision_host', 'revision', 'uuid'],
    )
    op.create_index(
        'ix_compute_nodes_host_uuid', 'compute_nodes', ['host', 'uuid']
    )
    for name in ('ix_compute_nodes_host', 'ix_compute_nodes_updated_at'):
        op.drop_index(name, 'compute_nodes')
