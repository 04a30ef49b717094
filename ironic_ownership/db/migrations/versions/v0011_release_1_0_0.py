"""The schema of release 1.0.0; those before it were never in a release.

Revision ID: 0011
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0011'
down_revision = None

OLDEST = '0011'
"""Older releases never read ``schema_compatibility``."""

_NAME = sa.String(255)
_UUID = sa.String(36)
_SHORT = sa.String(64)
_COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
_EXACT: dict[str, Any] = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade() -> None:
    """Create all tables.

    A later migration that takes away what the release before needs has to
    raise the row of ``schema_compatibility`` to the oldest revision that
    still works.
    """
    _services()
    _nodes()
    _events()
    _moves()
    _reservations()
    op.create_table(
        'schema_compatibility',
        sa.Column('oldest', sa.String(32), primary_key=True),
        **_EXACT,
    )
    table = sa.table('schema_compatibility', sa.column('oldest', sa.String))
    op.bulk_insert(table, [{'oldest': OLDEST}])


def _services() -> None:
    op.create_table(
        'services',
        sa.Column('host', _NAME, primary_key=True),
        sa.Column('epoch', sa.BigInteger, nullable=False),
        sa.Column('disabled', sa.Boolean, nullable=False),
        sa.Column('disabled_reason', _NAME),
        sa.Column('forced_down', sa.Boolean, nullable=False),
        sa.Column('fenced', sa.Boolean, nullable=False),
        sa.Column('settings', sa.Text, nullable=False),
        sa.Column('registered_at', sa.Double),
        sa.Column('view_checksum', _SHORT),
        sa.Column('config_error', sa.Text),
        sa.Column('incarnation', _SHORT),
        sa.Column('away_until', sa.Double),
        sa.Column(
            'revision', sa.BigInteger, nullable=False, server_default='0'
        ),
        **_EXACT,
    )
    op.create_table(
        'condition_reports',
        sa.Column('host', _NAME, primary_key=True),
        sa.Column('incarnation', _SHORT, nullable=False),
        sa.Column('reported_at', sa.Double, nullable=False),
        sa.Column('due_after', sa.Double, nullable=False),
        sa.Column('conditions', sa.Text, nullable=False),
        **_EXACT,
    )
    op.create_table(
        'members',
        sa.Column('host', _NAME, primary_key=True),
        sa.Column('incarnation', _SHORT, primary_key=True),
        sa.Column('settings', sa.Text, nullable=False),
        sa.Column('joined_at', sa.Double, nullable=False),
        sa.Column('expires_at', sa.Double, nullable=False),
        **_EXACT,
    )


def _nodes() -> None:
    op.create_table(
        'compute_nodes',
        sa.Column('uuid', _UUID, primary_key=True),
        sa.Column('host', _NAME),
        sa.Column('name', _NAME),
        sa.Column('driver', _NAME, nullable=False),
        sa.Column('shard', _NAME),
        sa.Column('conductor_group', _NAME, nullable=False),
        sa.Column('reason', _SHORT, nullable=False),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.Column('deleted_at', sa.Double),
        sa.Column('unavailable', _SHORT),
        sa.Column('unavailable_since', sa.Double),
        sa.Column('placement_digest', _SHORT),
        sa.Column('released_by', _NAME),
        sa.Index('ix_compute_nodes_host', 'host'),
        sa.Index('ix_compute_nodes_scope', 'shard', 'conductor_group'),
        sa.Index('ix_compute_nodes_deleted_at', 'deleted_at'),
        **_EXACT,
    )
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
        sa.Column('host', _NAME),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('deleted_at', sa.Double),
        sa.Column('reason', _SHORT),
        sa.UniqueConstraint(
            'open_node_uuid', name='uq_instances_open_node_uuid'
        ),
        sa.Index('ix_instances_uuid', 'uuid'),
        sa.Index('ix_instances_node_uuid', 'node_uuid'),
        sa.Index('ix_instances_deleted_at', 'deleted_at'),
        **_EXACT,
    )


def _events() -> None:
    op.create_table(
        'events',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('at', sa.Double, nullable=False),
        sa.Column('actor', _NAME, nullable=False),
        sa.Column('kind', _SHORT, nullable=False),
        sa.Column('node_uuid', _UUID),
        sa.Column('from_host', _NAME),
        sa.Column('to_host', _NAME),
        sa.Column('instance_uuid', _UUID),
        sa.Column('reason', _NAME),
        sa.Column('request_id', _SHORT),
        sa.Index('ix_events_node_uuid', 'node_uuid'),
        sa.Index('ix_events_at', 'at', 'id'),
        sa.Index('ix_events_from_host', 'from_host'),
        sa.Index('ix_events_to_host', 'to_host'),
        sa.Index('ix_events_request_id', 'request_id'),
        **_EXACT,
    )


def _moves() -> None:
    op.create_table(
        'moves',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('request_id', _SHORT, nullable=False),
        sa.Column('destination', _NAME, nullable=False),
        sa.Column('actor', _NAME, nullable=False),
        sa.Column('reason', sa.Text),
        sa.Column('overrides', sa.Text, nullable=False),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.UniqueConstraint('request_id', name='uq_moves_request_id'),
        sa.Index('ix_moves_created_at', 'created_at'),
        **_EXACT,
    )
    op.create_table(
        'node_moves',
        sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column(
            'request_id',
            _SHORT,
            sa.ForeignKey('moves.request_id', name='fk_node_moves_request_id'),
            nullable=False,
        ),
        sa.Column('node_uuid', _UUID, nullable=False),
        sa.Column('source', _NAME),
        sa.Column('source_epoch', sa.BigInteger),
        sa.Column('instance_uuid', _UUID),
        sa.Column('state', _SHORT, nullable=False),
        sa.Column('detail', sa.Text),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.UniqueConstraint(
            'request_id', 'node_uuid', name='uq_node_moves_node'
        ),
        sa.Index('ix_node_moves_state', 'state'),
        **_EXACT,
    )


def _reservations() -> None:
    op.create_table(
        'reservations',
        sa.Column('number', _COUNTER, primary_key=True, autoincrement=True),
        sa.Column('id', _UUID, nullable=False),
        sa.Column('instance_uuid', _UUID, nullable=False),
        sa.Column('open_instance_uuid', _UUID),
        sa.Column('host', _NAME, nullable=False),
        sa.Column('node_uuid', _UUID),
        sa.Column('state', _SHORT, nullable=False),
        sa.Column('method', _SHORT, nullable=False),
        sa.Column('request', sa.Text, nullable=False),
        sa.Column('confirmed', sa.Boolean, nullable=False),
        sa.Column('detail', sa.Text),
        sa.Column('created_at', sa.Double, nullable=False),
        sa.Column('updated_at', sa.Double, nullable=False),
        sa.Column('expires_at', sa.Double),
        sa.UniqueConstraint('id', name='uq_reservations_id'),
        sa.UniqueConstraint(
            'open_instance_uuid', name='uq_reservations_open_instance_uuid'
        ),
        sa.Index('ix_reservations_host', 'host', 'state'),
        sa.Index('ix_reservations_state', 'state', 'updated_at'),
        **_EXACT,
    )
