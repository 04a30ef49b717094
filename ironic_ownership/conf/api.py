"""Options of the HTTP service."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'api'
NOAUTH, KEYSTONE, HTTP_BASIC = 'noauth', 'keystone', 'http_basic'

OPTS = (
    cfg.StrOpt(
        'auth_strategy',
        default=KEYSTONE,
        choices=[
            (
                NOAUTH,
                'none, for trials: clients on this machine, without a proxy',
            ),
            (KEYSTONE, 'tokens of Keystone, and the rules of [oslo_policy]'),
            (
                HTTP_BASIC,
                'users of http_basic_auth_user_file, each for everything',
            ),
        ],
        help='How clients of the HTTP service authenticate. With "keystone" '
        'the group [keystone_authtoken] configures how tokens are checked.',
    ),
    cfg.StrOpt(
        'http_basic_auth_user_file',
        default='/etc/ironic-ownership/htpasswd',
        help='File of users and passwords for auth_strategy = http_basic: '
        'lines of "htpasswd -nB USER". It is read for each request.',
    ),
    cfg.ListOpt(
        'admin_projects',
        default=[],
        help='Ids of projects whose role "admin" is enough for everything. '
        'The role "admin" in the system always is, and in no other project: '
        'a tenant may be the admin of one. The rules of a policy file take '
        'precedence.',
    ),
    cfg.ListOpt(
        'service_projects',
        default=[],
        help='Ids of projects whose role "service" may make reservations, and '
        'show, confirm and delete those that the same user made. The same '
        'role in another project may not: a tenant may have it there.',
    ),
    cfg.HostAddressOpt(
        'host_ip',
        default='127.0.0.1',
        help='Address on which ironic-ownership-api listens. Anything but a '
        'loopback address needs auth_strategy = keystone or http_basic. '
        'Another WSGI server has options of its own for this.',
    ),
    cfg.PortOpt(
        'port',
        default=6396,
        min=1,
        help='TCP port on which ironic-ownership-api listens.',
    ),
    cfg.IntOpt(
        'threads',
        default=8,
        min=1,
        help='Number of requests that ironic-ownership-api answers '
        'concurrently; others wait.',
    ),
    cfg.IntOpt(
        'max_limit',
        default=1000,
        min=1,
        help='Most items in one page of a list.',
    ),
    cfg.FloatOpt(
        'list_lifetime',
        default=60,
        min=0,
        help='Seconds for which a list of compute nodes is cached for its '
        'later pages. The first page always reads the list again. Zero '
        'reads it for each page.',
    ),
    cfg.FloatOpt(
        'metrics_interval',
        default=60,
        min=0,
        help='Seconds for which /metrics are cached. A refresh lists all '
        'nodes.',
    ),
    cfg.BoolOpt(
        'public_metrics',
        default=False,
        help='Answer /metrics without a token, which Prometheus does not '
        'send. The metrics name services, and contain numbers of nodes.',
    ),
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS, group=GROUP)
