"""Options of the membership, common to all backends."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'membership'
OPTS = (
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


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS, group=GROUP)
