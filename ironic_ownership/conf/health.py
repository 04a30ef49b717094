"""Options of the health of a host process."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'health'

OPTS = (
    cfg.StrOpt(
        'listen',
        sample_default='127.0.0.1:9396',
        help='Where the host process answers /healthcheck and /metrics over '
        'HTTP: an address and port of the loopback interface, as in '
        '127.0.0.1:9396 or [::1]:9396, or the absolute path of a socket '
        'file. Unset: nowhere. Needs the extra "health".',
    ),
)
