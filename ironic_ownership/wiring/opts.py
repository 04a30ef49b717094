"""List of all options, including those of installed plugins."""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from ironic_ownership import conf, plugins
from ironic_ownership.conf import plugin as plugin_conf


def list_opts() -> Sequence[tuple[str, Sequence[cfg.Opt]]]:
    """Return them for sample configuration, validator and documentation."""
    from ironic_ownership.clients.ironic import client
    from ironic_ownership.clients.placement import options

    found = [
        *conf.list_opts(),
        *client.list_opts(),
        *options.list_opts(),
    ]
    for group in (plugins.POLICIES, plugins.BACKENDS):
        for plugin in plugins.installed(group):
            if plugin.target is None:
                continue
            found.extend(
                (
                    plugin_conf.group_of(plugin.name, plugin.target, option),
                    [plugin_conf.to_oslo(option)],
                )
                for option in plugin.target.options
            )
    return found
