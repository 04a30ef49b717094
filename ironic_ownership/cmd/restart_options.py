"""Changed options that need a restart.

They are reported to the operator, and keep the value of the start until the
process restarts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any

from oslo_config import cfg

from ironic_ownership import plugins, wiring
from ironic_ownership.conf import core
from ironic_ownership.conf import plugin as plugin_conf

Option = tuple[str, str]
"""Group and name."""

RELOADABLE = frozenset(
    {
        # They are oslo.log's.
        ('DEFAULT', 'debug'),
        ('DEFAULT', 'default_log_levels'),
        *(
            (group, option.dest)
            for group, options in core.OPTS.items()
            for option in options
            if option.mutable
        ),
    }
)
"""Options that need no restart, in addition to those of policies."""


def needed_by(
    before: cfg.ConfigOpts,
    after: cfg.ConfigOpts,
    credentials: Collection[Option] = (),
) -> list[Option]:
    """Return the options that have changed and can't be applied now.

    :param credentials: those of the kinds of authentication in use.
    :raises ValueError: if a new value is none of its option's type.
    """
    of_policies = {
        (plugin_conf.group_of(plugin.name, plugin.target, option), option.name)
        for plugin in plugins.loaded(plugins.POLICIES)
        if plugin.target is not None
        for option in plugin.target.options
    }
    options = {
        (group, opt.dest)
        for group, opts in wiring.list_loaded_opts()
        for opt in opts
    }
    options |= set(credentials)
    options |= {('DEFAULT', name) for name in _of_default(before)}
    return [
        option
        for option in sorted(options - RELOADABLE - of_policies)
        if _value(before, option) != _value(after, option)
    ]


def text_of(options: Sequence[Option]) -> str:
    """Return the options as operators write them."""
    return ', '.join(f'[{group}] {name}' for group, name in options)


def take_back(
    before: cfg.ConfigOpts, after: cfg.ConfigOpts, options: Sequence[Option]
) -> None:
    """Restore the previous values of options."""
    for group, name in options:
        with contextlib.suppress(cfg.NoSuchOptError, cfg.NoSuchGroupError):
            after.set_override(
                name,
                _value(before, (group, name)),
                None if group == 'DEFAULT' else group,
            )


def _of_default(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the options without a group, including those of oslo.log."""
    group = cfg.ConfigOpts.GroupAttr
    return [name for name in conf if not isinstance(conf[name], group)]


def _value(conf: cfg.ConfigOpts, option: Option) -> Any:
    group, name = option
    try:
        return (conf if group == 'DEFAULT' else conf[group])[name]
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return None  # that of a plugin which is not in use
