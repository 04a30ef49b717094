"""The tables of this release; their history is in ``migrations``.

Only the migrations make tables: engine, character set and collation are
theirs, so that shards compare exactly. A unit test compares these tables with
what they make. Timestamps are seconds since the epoch by the database server's
clock.
"""

from __future__ import annotations

import sqlalchemy as sa

HEAD = '0024'
"""The newest revision of ``migrations``; a unit test compares them."""

VERSIONS = sa.table('alembic_version', sa.column('version_num', sa.String))

metadata = sa.MetaData(
    naming_convention={
        'fk': 'fk_%(table_name)s_%(column_0_name)s',
        'ix': 'ix_%(table_name)s_%(column_0_name)s',
        'uq': 'uq_%(table_name)s_%(column_0_name)s',
    }
)

_HOST = sa.String(255)
_UUID = sa.String(36)
_SHORT = sa.String(64)
# SQLite counts up by itself only in a column of exactly this type.
_COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
# MariaDB chooses the type by the length: MEDIUMTEXT, and not TEXT with 64 KB.
_LONG = sa.Text().with_variant(sa.Text(4_000_000), 'mysql', 'mariadb')


services = sa.Table(
    'services',
    metadata,
    sa.Column('host', _HOST, primary_key=True),
    sa.Column('epoch', sa.BigInteger, nullable=False),
    sa.Column('disabled', sa.Boolean, nullable=False),
    sa.Column('disabled_reason', sa.String(255)),
    sa.Column('forced_down', sa.Boolean, nullable=False),
    sa.Column('fenced', sa.Boolean, nullable=False),
    sa.Column('settings', sa.Text, nullable=False),
    sa.Column('registered_at', sa.Double),
    sa.Column('view_checksum', _SHORT),
    sa.Column('config_error', sa.Text),
    # The process that is active, or is to be.
    sa.Column('incarnation', _SHORT),
    # When the grace period of a clean stop ends.
    sa.Column('away_until', sa.Double),
    # Its length in seconds, for a clock that is set back meanwhile.
    sa.Column('grace', sa.Double),
    # Raised by every transaction that decides from this row, so that the
    # row is among its writes: databases with several writers compare those.
    sa.Column('revision', sa.BigInteger, nullable=False, server_default='0'),
    # How far the revision was raised with a mark on each record that changed:
    # the rest was done by releases that write none. See ``transaction``.
    sa.Column('marked', sa.BigInteger, nullable=False, server_default='0'),
    # As JSON: what an operator decided about deployed nodes; see
    # ``service_admin`` for the other two.
    sa.Column('standing_order', sa.Text),
    sa.Column('fence_epoch', sa.BigInteger),
    sa.Column('fence_seen_at', sa.Double),
)

condition_reports = sa.Table(
    'condition_reports',
    metadata,
    # Apart from the service's row, which every decision locks and writes.
    sa.Column('host', _HOST, primary_key=True),
    sa.Column('incarnation', _SHORT, nullable=False),
    sa.Column('reported_at', sa.Double, nullable=False),
    # Seconds after which the next report is due.
    sa.Column('due_after', sa.Double, nullable=False),
    # As JSON, with times by the database's clock.
    sa.Column('conditions', sa.Text, nullable=False),
)

compute_nodes = sa.Table(
    'compute_nodes',
    metadata,
    # Ironic's uuid of the node. It never changes: not with the owner, and
    # not when the node returns after its record was deleted.
    sa.Column('uuid', _UUID, primary_key=True),
    sa.Column('host', _HOST),
    sa.Column('name', sa.String(255)),
    sa.Column('driver', sa.String(255), nullable=False),
    sa.Column('shard', sa.String(255)),
    sa.Column('conductor_group', sa.String(255), nullable=False),
    sa.Column('reason', _SHORT, nullable=False),
    sa.Column('created_at', sa.Double, nullable=False),
    sa.Column('updated_at', sa.Double, nullable=False),
    sa.Column('deleted_at', sa.Double, index=True),
    # The reason why nothing can be scheduled to it, as last evaluated.
    sa.Column('unavailable', _SHORT),
    sa.Column('unavailable_since', sa.Double),
    # Of what Placement accepted.
    sa.Column('placement_digest', _SHORT),
    # Only meaningful while the node is unowned.
    sa.Column('released_by', _HOST),
    # Only meaningful while the node is unowned: the request that released it,
    # and until when no service may claim it.
    sa.Column('held_by', _SHORT),
    sa.Column('held_until', sa.Double),
    # The mark of the last change: a service whose revision the transaction
    # raised, and the revision that it got.
    sa.Column('revision_host', _HOST),
    sa.Column('revision', sa.BigInteger),
    # With the uuid: pages are read in its order.
    sa.Index('ix_compute_nodes_host_uuid', 'host', 'uuid'),
    sa.Index('ix_compute_nodes_revision', 'revision_host', 'revision', 'uuid'),
    sa.Index('ix_compute_nodes_scope', 'shard', 'conductor_group'),
)

instances = sa.Table(
    'instances',
    metadata,
    sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
    sa.Column('uuid', _UUID, nullable=False, index=True),
    sa.Column(
        'node_uuid',
        _UUID,
        sa.ForeignKey('compute_nodes.uuid'),
        nullable=False,
        index=True,
    ),
    # The node's uuid while the instance is open, else null: unique, it
    # allows one open instance a node on every database.
    sa.Column('open_node_uuid', _UUID, unique=True),
    sa.Column('host', _HOST),
    sa.Column('created_at', sa.Double, nullable=False),
    sa.Column('deleted_at', sa.Double, index=True),
    sa.Column('reason', _SHORT),
)

events = sa.Table(
    'events',
    metadata,
    sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
    sa.Column('at', sa.Double, nullable=False),
    sa.Column('actor', _HOST, nullable=False),
    sa.Column('kind', _SHORT, nullable=False),
    sa.Column('node_uuid', _UUID, index=True),
    sa.Column('from_host', _HOST, index=True),
    sa.Column('to_host', _HOST, index=True),
    sa.Column('instance_uuid', _UUID),
    sa.Column('reason', sa.String(255)),
    # Of the operator's request that caused it, if one did.
    sa.Column('request_id', _SHORT, index=True),
    # The operator's reason, beside the facts in "reason".
    sa.Column('note', sa.String(255)),
    sa.Index('ix_events_at', 'at', 'id'),
)

members = sa.Table(
    'members',
    metadata,
    # Members are processes, and a host may have several.
    sa.Column('host', _HOST, primary_key=True),
    sa.Column('incarnation', _SHORT, primary_key=True),
    sa.Column('settings', sa.Text, nullable=False),
    sa.Column('joined_at', sa.Double, nullable=False),
    sa.Column('expires_at', sa.Double, nullable=False),
)

moves = sa.Table(
    'moves',
    metadata,
    sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
    sa.Column('request_id', _SHORT, nullable=False, unique=True),
    sa.Column('destination', _HOST, nullable=False),
    sa.Column('actor', _HOST, nullable=False),
    sa.Column('reason', sa.Text),
    # Codes of gates, separated by blanks.
    sa.Column('overrides', sa.Text, nullable=False),
    sa.Column('created_at', sa.Double, nullable=False, index=True),
    # By a standing order: a pause holds it back.
    sa.Column('automatic', sa.Boolean, nullable=False),
    sa.Column('shard', sa.String(255)),
)

node_moves = sa.Table(
    'node_moves',
    metadata,
    sa.Column('id', _COUNTER, primary_key=True, autoincrement=True),
    sa.Column(
        'request_id', _SHORT, sa.ForeignKey('moves.request_id'), nullable=False
    ),
    sa.Column('node_uuid', _UUID, nullable=False),
    sa.Column('source', _HOST),
    sa.Column('source_epoch', sa.BigInteger),
    sa.Column('instance_uuid', _UUID),
    sa.Column('state', _SHORT, nullable=False),
    sa.Column('detail', sa.Text),
    sa.Column('trial', _SHORT),
    sa.Column('updated_at', sa.Double, nullable=False),
    sa.UniqueConstraint('request_id', 'node_uuid', name='uq_node_moves_node'),
    sa.Index('ix_node_moves_unfinished', 'state', 'trial', 'request_id'),
)

reservations = sa.Table(
    'reservations',
    metadata,
    sa.Column('number', _COUNTER, primary_key=True, autoincrement=True),
    sa.Column('id', _UUID, nullable=False, unique=True),
    sa.Column('instance_uuid', _UUID, nullable=False),
    # The instance's uuid while the reservation is open, else null: unique,
    # it allows one open reservation an instance on every database.
    sa.Column('open_instance_uuid', _UUID, unique=True),
    sa.Column('host', _HOST, nullable=False),
    sa.Column('node_uuid', _UUID),
    sa.Column('state', _SHORT, nullable=False),
    sa.Column('method', _SHORT, nullable=False),
    # As JSON, in the form of the request.
    sa.Column('request', _LONG, nullable=False),
    sa.Column('confirmed', sa.Boolean, nullable=False),
    sa.Column('creator', sa.String(255)),
    sa.Column('detail', sa.Text),
    sa.Column('created_at', sa.Double, nullable=False),
    sa.Column('updated_at', sa.Double, nullable=False),
    sa.Column('expires_at', sa.Double),
    sa.Index('ix_reservations_host', 'host', 'state'),
    sa.Index('ix_reservations_node', 'node_uuid', 'open_instance_uuid'),
    sa.Index('ix_reservations_state', 'state', 'updated_at'),
)

outbox = sa.Table(
    'outbox',
    metadata,
    sa.Column('name', _SHORT, primary_key=True),
    # Until when all events were sent as notifications.
    sa.Column('position', sa.Double, nullable=False),
    # The process that sends them, and how long no other one does.
    sa.Column('sender', sa.String(255), nullable=False),
    sa.Column('sender_until', sa.Double, nullable=False),
)

pauses = sa.Table(
    'pauses',
    metadata,
    sa.Column('request_id', _SHORT, primary_key=True),
    # Of the nodes that keep their owner; null for those of any.
    sa.Column('shard', sa.String(255)),
    sa.Column('conductor_group', sa.String(255)),
    sa.Column('began_at', sa.Double, nullable=False),
    sa.Column('ends_at', sa.Double, nullable=False),
    sa.Column('actor', _HOST, nullable=False),
    sa.Column('reason', sa.String(255), nullable=False),
)

schema_compatibility = sa.Table(
    'schema_compatibility',
    metadata,
    # The oldest revision whose release can still use this schema: one row.
    sa.Column('oldest', sa.String(32), primary_key=True),
)
