"""List of all options, including those of installed plugins."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from oslo_config import cfg

from ironic_ownership import conf, plugins
from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.contracts import exceptions

Listed = Sequence[tuple[str, Sequence[cfg.Opt]]]


def list_opts() -> Listed:
    """Return them for sample configuration, validator and documentation.

    Those of plugins that cannot be loaded, or declare them invalid, are left
    out.
    """
    return _list_opts(plugins.installed, plugin_conf.described)


def list_loaded_opts() -> Listed:
    """Return the options that this process uses: of loaded plugins only."""
    return _list_opts(plugins.loaded, plugin_conf.declared)


def _list_opts(
    listed: Callable[[str], Iterable[plugins.Plugin]],
    options_of: Callable[[str, plugins.Class], Iterable[tuple[str, cfg.Opt]]],
) -> Listed:
    from ironic_ownership.clients.ironic import client
    from ironic_ownership.clients.placement import options

    found = [
        *conf.list_opts(),
        *client.list_opts(),
        *options.list_opts(),
    ]
    for companion in listed(plugins.COMPANIONS):
        module: Any = companion.target
        if module is not None:
            found.append((companion.name, list(module.OPTS)))
    for group in (plugins.POLICIES, plugins.BACKENDS):
        for plugin in listed(group):
            if plugin.target is None:
                continue
            with contextlib.suppress(exceptions.PluginError):
                found.extend(
                    (group_name, [option])
                    for group_name, option in options_of(
                        plugin.name, plugin.target
                    )
                )
    return found
