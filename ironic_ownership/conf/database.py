"""Options of the database: those of oslo.db, with our own default."""

from __future__ import annotations

import copy

from oslo_config import cfg
from oslo_db import options as db_options

GROUP = 'database'
_CONNECTION = 'sqlite:///$state_path/ironic-ownership.db'


def _with_our_default(opt: cfg.Opt) -> cfg.Opt:
    if opt.name != 'connection':
        return opt
    ours = copy.copy(opt)
    ours.default = _CONNECTION
    return ours


OPTS = tuple(_with_our_default(opt) for opt in db_options.database_opts)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module."""
    conf.register_opts(OPTS, group=GROUP)
