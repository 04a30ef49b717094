"""Services, compute nodes, instances, events and members."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None

_HOST = sa.String(255)
_UUID = sa.String(36)
_SHORT = sa.String(64)
_COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
_EXACT: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    """Create all tables."""
    _services()
    _compute_nodes()
    _instances()
    _events()
    _members()


def _services() -> None:
    op.create_table(
        'services',
        sa.Column('host', _HOST, primary_key=True),
        sa.Column('epoch', sa.BigInteger, nullable=False),
        sa.Column('disabled', sa.Boolean, nullable=False),
        sa.Column('disabled_reason', sa.String(255)),
        sa.Column('forced_down', sa.Boolean, nullable=False),
        sa.Column('fenced', sa.Boolean, nullable=False),
        sa.Column('settings', sa.Text, nullable=False),
        sa.Column('registered_at', sa.Double),
        **_EXACT,
    )


def _compute_nodes() -> None:
    op.create_table(
        'compute_nodes',
        sa.Column('uuid', _UUID, primary_key=True),
        sa.Column('host', _HOST),
        sa.Column('name', sa.String(255)),
        sa.Column('driver', sa.String(255), nullable=False),
        sa.Column('shard', sa.String(255)),
        sa.Column('conductor_group', sa.String(255), nullable=False),
        sa.Column('reason', _SHORT, nullable=False),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.Column('deleted_at', sa.Double),
        **_EXACT,
    )
    op.create_index('ix_compute_nodes_host', 'compute_nodes', ['host'])
    op.create_index(
        'ix_compute_nodes_scope', 'compute_nodes', ['shard', 'conductor_group']
    )


def _instances() -> None:
    op.create_table(
        'instances',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('uuid', _UUID, nullable=False),
        sa.Column(
            'node_uuid',
            _UUID,
            sa.ForeignKey('compute_nodes.uuid', name='fk_instances_node_uuid'),
            nullable=False,
        ),
        sa.Column('open_node_uuid', _UUID),
        sa.Column('host', _HOST),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('deleted_at', sa.Double),
        sa.Column('reason', _SHORT),
        sa.UniqueConstraint(
            'open_node_uuid', name='uq_instances_open_node_uuid'
        ),
        **_EXACT,
    )
    op.create_index('ix_instances_uuid', 'instances', ['uuid'])
    op.create_index('ix_instances_node_uuid', 'instances', ['node_uuid'])


def _events() -> None:
    op.create_table(
        'events',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('at', sa.Double, nullable=False),
        sa.Column('actor', _HOST, nullable=False),
        sa.Column('kind', _SHORT, nullable=False),
        sa.Column('node_uuid', _UUID),
        sa.Column('from_host', _HOST),
        sa.Column('to_host', _HOST),
        sa.Column('instance_uuid', _UUID),
        sa.Column('reason', sa.String(255)),
        **_EXACT,
    )
    op.create_index('ix_events_node_uuid', 'events', ['node_uuid'])


def _members() -> None:
    op.create_table(
        'members',
        sa.Column('host', _HOST, primary_key=True),
        sa.Column('incarnation', sa.String(255), nullable=False),
        sa.Column('settings', sa.Text, nullable=False),
        sa.Column('joined_at', sa.Double, nullable=False),
        sa.Column('expires_at', sa.Double, nullable=False),
        **_EXACT,
    )
