"""From configuration files to the WSGI application.

Nothing is opened before the first request: each process that a server forks
has connections of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_log import log
from oslo_policy import policy

from ironic_ownership import wiring
from ironic_ownership.conf import api, log_format, new
from ironic_ownership.web import application as web_application
from ironic_ownership.web import policies

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

PROG = 'ironic-ownership-api'
FILES, DIRECTORIES = (
    'IRONIC_OWNERSHIP_CONFIG_FILES',
    'IRONIC_OWNERSHIP_CONFIG_DIRS',
)
"""Names of files and directories, with ":" between them."""

LOG = log.getLogger(__name__)


def arguments(environment: Mapping[str, str]) -> list[str]:
    """Return the options for the configuration in an environment."""
    return [
        f'{option}={path}'
        for option, name in (
            ('--config-file', FILES),
            ('--config-dir', DIRECTORIES),
        )
        for path in environment.get(name, '').split(os.pathsep)
        if path
    ]


def configure(argv: Sequence[str]) -> cfg.ConfigOpts:
    """Read the configuration and set up the log.

    :param argv: ``--config-file`` and ``--config-dir`` arguments, if any.
    :raises cfg.Error: if a file can't be read or a value has no such type.
    :raises ConfigurationError: if the log cannot be set up.
    """
    conf = new(argv, PROG)
    api.register_opts(conf)
    log_format.setup(conf, PROG)
    return conf


def enforcer() -> policy.Enforcer:
    """Return the access rules of a deployment, for the tools of oslo.policy.

    Its configuration is found as by other WSGI servers.

    :raises cfg.Error: if a file can't be read.
    """
    conf = new(arguments(os.environ), PROG, logs=False)
    api.register_opts(conf)
    return policies.Rules(conf).enforcer


def build(conf: cfg.ConfigOpts) -> WSGIApplication:
    """Build the application of a configuration."""
    if conf.api.auth_strategy == api.NOAUTH:
        LOG.warning(
            'clients are not authenticated: only those on this machine are '
            'answered. [api] auth_strategy = keystone changes that'
        )
    return web_application.build(conf, wiring.Wiring(conf))
