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


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS)
