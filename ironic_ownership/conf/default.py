"""Options of the process as a whole."""

from __future__ import annotations

import socket

from oslo_config import cfg

GROUP = 'DEFAULT'
OPTS = (
    cfg.StrOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name of this machine>',
        help='Name of this service, by which records, peers and operators '
        'know it. Case does not count: it is known in lower case '
        'everywhere. Give it a name of its own (a shard, a rack) to be able '
        'to serve it from another machine later.',
    ),
    cfg.StrOpt(
        'state_path',
        default='/var/lib/ironic-ownership',
        help='Directory for what the service keeps on its own disk: the '
        'embedded database, unless [database] connection says otherwise.',
    ),
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS)
