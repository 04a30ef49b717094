"""Options of ownership: policies, backend, refresh and its limits."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'ownership'
OPTS = (
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
        'Ironic in one refresh, nothing is changed and the loss is reported. '
        'Related: mass_loss_minimum.',
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


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS, group=GROUP)
