"""The core options, by their groups."""

from __future__ import annotations

import copy
import socket

from oslo_config import cfg
from oslo_db import options as db_options

from ironic_ownership.conf import nova

_DEFAULT = (
    cfg.StrOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name of this machine>',
        help='Name of this service in the records, for its peers and for '
        'operators. Case does not count: it is lower case everywhere. A '
        'name of its own (a shard, a rack) allows to run the service on '
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
        default=['all'],
        help='Ownership policies, by entry point in '
        '"ironic_ownership.policies". A node is eligible when every filter '
        'admits it; at most one assigner chooses among several eligible '
        'services. "ironic-ownership policy list" shows those installed.',
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
        default=60,
        min=1,
        help='Seconds between two refreshes, each of which lists the nodes '
        'in scope and brings the records up to date. A change of the members '
        'starts one immediately.',
    ),
    cfg.IntOpt(
        'handover_limit',
        default=5000,
        min=1,
        help='At most this many nodes change owner by themselves in one '
        'refresh of a service; the next refresh follows immediately. '
        'Unowned nodes that get an owner do not count.',
    ),
    cfg.FloatOpt(
        'recovery_delay',
        default=60,
        min=0,
        help='Seconds for which a live conductor must have had the driver of '
        'a node that is out of service, at every refresh, before the node is '
        'back in service. It goes out of service immediately. A larger value '
        'damps conductors that come and go.',
    ),
    cfg.FloatOpt(
        'mass_loss_share',
        default=0.25,
        min=0,
        max=1,
        help='When more than this share of the own nodes is missing from '
        'Ironic in one refresh, no record is deleted and the loss is '
        'reported; all nodes that Ironic lists are served. 1 allows any '
        'loss. Related: mass_loss_minimum.',
    ),
    cfg.IntOpt(
        'mass_loss_minimum',
        default=3,
        min=0,
        help='Up to this many missing nodes are never a mass loss, with any '
        'share. Related: mass_loss_share.',
    ),
    cfg.FloatOpt(
        'recheck_interval',
        default=600,
        min=1,
        help='Seconds after which an own node that is not in scope any more '
        'is looked up in Ironic again by its uuid.',
    ),
)

_MEMBERSHIP = (
    cfg.FloatOpt(
        'heartbeat_interval',
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
        min=0.1,
        help='Seconds between two polls of the members, and, for a process '
        'that stands by, of its service. With a backend that notifies of '
        'changes the members are polled less often. Unset: a twentieth of '
        'member_ttl, at most 1 and at least 0.1.',
    ),
    cfg.FloatOpt(
        'restart_grace',
        default=0,
        min=0,
        help='Seconds for which a service that was stopped cleanly is '
        'expected back, as for a restart or an upgrade: until then its nodes '
        'stay with it. Zero means that a stopped service is gone immediately '
        'and its free nodes go to its peers.',
    ),
)


def _with_our_default(opt: cfg.Opt) -> cfg.Opt:
    if opt.name != 'connection':
        return opt
    ours = copy.copy(opt)
    ours.default = 'sqlite:///$state_path/ironic-ownership.db'
    return ours


OPTS: dict[str, tuple[cfg.Opt, ...]] = {
    'DEFAULT': _DEFAULT,
    'ownership': _OWNERSHIP,
    'membership': _MEMBERSHIP,
    'database': tuple(map(_with_our_default, db_options.database_opts)),
    nova.GROUP: nova.OPTS,
}
"""The options of each group; ``database`` has those of oslo.db."""
