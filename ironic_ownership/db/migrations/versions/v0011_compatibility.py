"""The oldest revision whose release can still use the tables.

Revision ID: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None

OLDEST = '0011'
"""Older releases never read this table."""


def upgrade() -> None:
    """Add the table with its only row.

    A later migration that takes away what the release before needs has to
    raise the row to the oldest revision that still works.
    """
    op.create_table(
        'schema_compatibility',
        sa.Column('oldest', sa.String(32), primary_key=True),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin',
    )
    table = sa.table('schema_compatibility', sa.column('oldest', sa.String))
    op.bulk_insert(table, [{'oldest': OLDEST}])
