"""Values that an embedding program sets over those of the files.

All options are reachable, also those that are registered late: of plugins,
of clients and of the kind of authentication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.contracts import exceptions

Overrides = Mapping[tuple[str, str], Any]
"""Values by group and name of their options; the group may be DEFAULT."""


def apply(conf: cfg.ConfigOpts, overrides: Overrides) -> None:
    """Set values that count more than those of the files.

    Placement is used if ``enabled`` is set in its group, or a line in a file:
    another override does not turn it on.

    :param conf: a configuration whose files were read.
    :raises ConfigurationError: naming all options that do not exist, and all
        values of a wrong type.
    """
    from ironic_ownership.clients import session
    from ironic_ownership.clients.ironic import client
    from ironic_ownership.clients.placement import options

    client.register_opts(conf)
    options.register_opts(conf)
    faults = _register_plugins(conf)
    faults += _set(conf, {k: v for k, v in overrides.items() if _early(k)})
    for group in (client.GROUP, options.GROUP):
        session.register_auth_opts(conf, group)
    faults += _set(conf, {k: v for k, v in overrides.items() if not _early(k)})
    if faults:
        raise exceptions.ConfigurationError(faults)


def _early(option: tuple[str, str]) -> bool:
    # The kind of authentication has options of its own.
    return option[1] == 'auth_type'


def _register_plugins(conf: cfg.ConfigOpts) -> list[str]:
    faults = []
    for group in (plugins.POLICIES, plugins.BACKENDS):
        for plugin in plugins.installed(group):
            if plugin.target is None:
                continue
            try:
                plugin_conf.register(conf, plugin.name, plugin.target)
            except cfg.DuplicateOptError as exc:
                faults.append(f'plugin {plugin.name!r}: {exc}')
    return faults


def _set(conf: cfg.ConfigOpts, overrides: Overrides) -> list[str]:
    faults = []
    for (group, name), value in sorted(overrides.items()):
        try:
            conf.set_override(
                name, value, None if group == 'DEFAULT' else group
            )
        except cfg.NoSuchOptError:
            faults.append(f'[{group}] {name}: there is no such option')
        except cfg.NoSuchGroupError:
            faults.append(f'[{group}] {name}: there is no such group')
        except (ValueError, cfg.Error) as exc:
            faults.append(plugin_conf.unreadable(group, name, exc))
    return faults
