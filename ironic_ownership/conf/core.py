"""The core options, by their groups."""

from __future__ import annotations

import copy
import socket

from oslo_config import cfg, types
from oslo_db import options as db_options

from ironic_ownership.contracts.request_header import SHORTEST_KEY

_DEFAULT = (
    cfg.StrOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name of this machine>',
        help='Name of this service in the records, for its peers and for '
        'operators. Case-insensitive: it is lower case everywhere. With a '
        'name of its own (a shard, a rack) you can run the service on '
        'another machine later.',
    ),
    cfg.StrOpt(
        'state_path',
        default='/var/lib/ironic-ownership',
        help='Directory for local data of the service: the embedded database, '
        'unless [database] connection names another one.',
    ),
)

_OWNERSHIP = (
    cfg.ListOpt(
        'policies',
        mutable=True,
        sample_default='<those whose options are set; without any, all>',
        help='Ownership policies, by entry point in '
        '"ironic_ownership.policies". A node is eligible when every filter '
        'admits it; at most one assigner chooses among several eligible '
        'services. "ironic-ownership policy list" shows those installed. '
        'Unset: the policies whose options are set, such as shard_key, and '
        '"all" if there are none. If it is set, an option of any other policy '
        'is an error.',
    ),
    cfg.ListOpt(
        'importable_policies',
        default=[],
        help='Policies of other packages that this process may import if a '
        'member uses them or a client names them, besides those in policies. '
        'Any other is treated as not installed: a member with it has settings '
        'that cannot be read here. The same list for all services, for the '
        'HTTP service and for the command line.',
    ),
    cfg.StrOpt(
        'backend',
        default='db',
        help='Membership backend, by entry point in '
        '"ironic_ownership.backends". All services of a deployment use the '
        'same one. "ironic-ownership backend list" shows those installed.',
    ),
    cfg.FloatOpt(
        'refresh_interval',
        mutable=True,
        default=60,
        min=1,
        help='Seconds between two refreshes, each of which reads the nodes '
        'in scope and brings the records up to date. A change of the members '
        'starts one immediately.',
    ),
    cfg.FloatOpt(
        'full_refresh_interval',
        mutable=True,
        default=3600,
        min=0,
        help='Seconds after which a refresh lists all nodes in scope again, '
        'at the latest. In between a refresh reads only the nodes that '
        'Ironic changed since the last one, and lists all of them if '
        'the changes do not add up. 0 lists them in every refresh.',
    ),
    cfg.IntOpt(
        'handover_limit',
        mutable=True,
        default=5000,
        min=1,
        help='At most this many nodes change owner automatically in one '
        'refresh of a service; the next refresh follows immediately. '
        'Unowned nodes that get an owner are not limited.',
    ),
    cfg.IntOpt(
        'handover_rate',
        mutable=True,
        default=0,
        min=0,
        help='At most this many nodes change owner automatically in a minute, '
        'in the whole deployment: all services need the same value. This '
        'includes free nodes of dead services. The others wait, and "service '
        'show" has the time that it takes. 0 sets no limit.',
    ),
    cfg.FloatOpt(
        'handover_share',
        mutable=True,
        default=1,
        min=0,
        max=1,
        help='A service releases a free node to another one only while at '
        'most this share of the nodes of its shard, and of its conductor '
        'group, is without an owner, or a single one. Take-overs of free '
        'nodes of dead services are not held back. All services need the same '
        'value. 1 sets no limit. The policy reservation leaves free nodes '
        'without an owner: do not limit the share next to it.',
    ),
    cfg.FloatOpt(
        'recovery_delay',
        mutable=True,
        default=60,
        min=0,
        help='Seconds for which a live conductor must have had the driver of '
        'a node that is out of service, at every refresh, before the node is '
        'back in service. It goes out of service immediately. A larger value '
        'damps conductors that come and go.',
    ),
    cfg.StrOpt(
        'without_conductors',
        default='out_of_service',
        choices=(
            ('out_of_service', 'all nodes are out of service'),
            ('schedulable', 'nodes stay as they are'),
        ),
        help='State of nodes while no conductor of Ironic is alive. Until one '
        'is, Ironic refuses every action. Choose schedulable if the '
        'heartbeats of live conductors may fail to reach the database of '
        'Ironic: all nodes would go out of service at once. '
        'All processes need the same value.',
    ),
    cfg.StrOpt(
        'scope_of_deployed_nodes',
        default='any',
        choices=(
            ('any', 'a service acts on them, and logs a warning'),
            ('own', 'a service is refused, as for free nodes'),
        ),
        help='Whether a service may act on its nodes with an instance that '
        'have left its shard or conductor group. They stay with it until you '
        'move them. All processes need the same value.',
    ),
    cfg.FloatOpt(
        'mass_loss_share',
        mutable=True,
        default=0.25,
        min=0,
        max=1,
        help='If more than this share of its nodes is missing from Ironic in '
        'one refresh, a service deletes no record and reports the loss; it '
        'serves all nodes that Ironic lists. 1 allows any loss. '
        'Related: mass_loss_minimum.',
    ),
    cfg.IntOpt(
        'mass_loss_minimum',
        mutable=True,
        default=3,
        min=0,
        help='Up to this many missing nodes are never a mass loss, with any '
        'share. Related: mass_loss_share.',
    ),
    cfg.BoolOpt(
        'trust_credential',
        mutable=True,
        default=False,
        help='Delete records of nodes that are gone although Ironic does not '
        'count all nodes for this user, because a policy refuses /v1/shards. '
        'Set it to true only if the user of [ironic] sees every node, by '
        'system scope or the role "service": to one that sees the nodes of a '
        'project, a node of another project looks gone.',
    ),
    cfg.FloatOpt(
        'recheck_interval',
        mutable=True,
        default=600,
        min=1,
        help='Seconds after which a service looks up a node of its own that '
        'is no longer in scope in Ironic again, by its uuid.',
    ),
)

_MEMBERSHIP = (
    cfg.FloatOpt(
        'heartbeat_interval',
        mutable=True,
        default=5,
        min=0.5,
        help='Seconds between two heartbeats. Also the time limit of one '
        'call to the membership backend.',
    ),
    cfg.FloatOpt(
        'member_ttl',
        default=20,
        min=1.5,
        help='Seconds after its last heartbeat at which a member is no '
        'longer alive. At least three times heartbeat_interval. The same '
        'for all services of a deployment.',
    ),
    cfg.FloatOpt(
        'fence_margin',
        default=1,
        min=0.1,
        help='A service stops acting this many seconds before the others '
        'may declare it dead: at the start of its last successful heartbeat '
        '+ member_ttl - fence_margin, by its own monotonic clock. Less than '
        'member_ttl - heartbeat_interval.',
    ),
    cfg.FloatOpt(
        'watch_interval',
        mutable=True,
        min=0.1,
        help='Seconds between two polls of the members, and, for a process '
        'that stands by, of its service. With a backend that notifies of '
        'changes the members are polled less often. Unset: a twentieth of '
        'member_ttl, at most 1 and at least 0.1.',
    ),
    cfg.FloatOpt(
        'restart_grace',
        mutable=True,
        default=60,
        min=0,
        help='Seconds for which a service that was stopped cleanly is '
        'expected back, as for a restart or an upgrade: until then its nodes '
        'stay with it, and afterwards its free nodes go to its peers. The '
        'default is what Nova waits (service_down_time), and several times '
        'what a nova-compute with 1,000 nodes needs for its restart. Zero '
        'means that a stopped service is gone immediately. A service that '
        'was killed is never waited for, nor one that is set --down.',
    ),
)

_ENFORCEMENT = (
    cfg.Opt(
        'shared_key',
        types.String(regex=f'^[^,]{{{SHORTEST_KEY},}}$'),
        secret=True,
        help='Key with which this service signs its requests to Ironic that '
        'change a node, so that the middleware in Ironic can refuse those of '
        'a former owner: one of [ownership] shared_keys in ironic.conf. At '
        f'least {SHORTEST_KEY} characters without commas, the same for all '
        'services. Only a program that embeds the service sends such '
        'requests, as the driver of nova-compute does. Unset: requests have '
        'no header.',
    ),
)

_HEALTH = (
    cfg.StrOpt(
        'listen',
        sample_default='127.0.0.1:9396',
        help='Where the host process answers /healthcheck and /metrics over '
        'HTTP: an address and port of the loopback interface, as in '
        '127.0.0.1:9396 or [::1]:9396, or the absolute path of a socket '
        'file. Unset: nowhere. Needs the extra "health".',
    ),
)

_NOTIFICATIONS = (
    cfg.StrOpt(
        'transport_url',
        secret=True,
        sample_default='rabbit://user:password@broker.example:5672/',
        help='URL of the message broker, as oslo.messaging reads it. Every '
        'event of the history is sent there as a notification. Unset: none '
        'is sent. Needs the extra "notifications"; further options are those '
        'of oslo.messaging, such as [oslo_messaging_rabbit] ssl.',
    ),
    cfg.ListOpt(
        'topics',
        default=['ironic_ownership_versioned_notifications'],
        help='Topics of the notifications. The name of a queue is the topic '
        'and ".info".',
    ),
    cfg.FloatOpt(
        'max_age',
        default=86400,
        min=60,
        help='Seconds after which an event that could not be sent is not '
        'sent any more. It stays in the history.',
    ),
)


# Copies, because the default is ours.
_DATABASE = tuple(map(copy.copy, db_options.database_opts))
for _opt in _DATABASE:
    if _opt.name == 'connection':
        _opt.default = 'sqlite:///$state_path/ironic-ownership.db'

OPTS: dict[str, tuple[cfg.Opt, ...]] = {
    'DEFAULT': _DEFAULT,
    'ownership': _OWNERSHIP,
    'membership': _MEMBERSHIP,
    'database': _DATABASE,
    'enforcement': _ENFORCEMENT,
    'health': _HEALTH,
    'notifications': _NOTIFICATIONS,
}
"""The options of each group; ``database`` has those of oslo.db."""
