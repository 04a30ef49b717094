"""Log levels of the configuration, which can change at runtime.

The destination of the log cannot. No line is lost in the change, as it would
be if the log was set up again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from oslo_config import cfg

from ironic_ownership.contracts import exceptions

Levels = Mapping[str, int]
"""By name of the logger; '' is the root."""


def read(conf: cfg.ConfigOpts) -> Levels:
    """Return the levels that are configured.

    :returns: none, if log_config_append configures the log.
    :raises ConfigurationError: if there is no such level.
    """
    if conf.log_config_append:
        return {}
    known = logging.getLevelNamesMapping()
    levels = {'': logging.DEBUG if conf.debug else logging.INFO}
    for pair in conf.default_log_levels:
        name, _, text = pair.partition('=')
        level = int(text) if text.isdecimal() else known.get(text)
        if level is None:
            raise exceptions.ConfigurationError(
                [f'[DEFAULT] default_log_levels: no such level: {pair!r}']
            )
        levels[name] = level
    return levels


def change(before: Levels, after: Levels) -> None:
    """Change the levels; a logger that is no longer named inherits one."""
    for name in before.keys() - after.keys():
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in after.items():
        logging.getLogger(name).setLevel(level)
