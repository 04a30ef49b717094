"""Options of the driver, in nova.conf."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from oslo_config import cfg

GROUP = 'ironic_ownership'

OPTS = (
    cfg.MultiStrOpt(
        'config_file',
        default=[],
        help='Configuration files of ironic-ownership. Default: '
        'ironic-ownership.conf beside the first nova.conf. They are read '
        'after the files of nova-compute, whose [ironic] and [placement] '
        'hold here as well. [database] connection has to be in one of them.',
    ),
    cfg.FloatOpt(
        'guard_patience',
        default=30.0,
        min=0,
        help='Seconds for which an operation waits for the right to act on '
        'its node, before it is refused.',
    ),
    cfg.BoolOpt(
        'shortcuts',
        default=True,
        help='Skip nodes that have not changed when nova-compute updates '
        'its resources, and hand gained nodes to the resource tracker at '
        'once. Both depend on internals of Nova. Without them each node '
        'is updated in each pass, as in Nova, and a gained node waits for '
        'the next pass.',
    ),
    cfg.IntOpt(
        'full_update_interval',
        default=1800,
        min=0,
        help='Seconds after which a node that has not changed is updated all '
        'the same. 0: in each pass.',
    ),
    cfg.IntOpt(
        'conductor_check_interval',
        default=10,
        min=1,
        help='Seconds between two requests to nova-conductor, which show '
        'whether this service is still connected.',
    ),
    cfg.IntOpt(
        'conductor_failures',
        default=6,
        min=0,
        help='Number of such intervals in a row without an answer after which '
        'the service gives up its nodes, until nova-conductor answers '
        'again. 0: never.',
    ),
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options in the configuration of Nova."""
    conf.register_opts(OPTS, GROUP)


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """List the options, for the generator of sample files."""
    return [(GROUP, OPTS)]


def config_files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files of ironic-ownership, without those of Nova."""
    named = list(conf[GROUP].config_file)
    if named:
        return named
    return [
        str(pathlib.Path(path).with_name('ironic-ownership.conf'))
        for path in conf.config_file[:1]
    ]
