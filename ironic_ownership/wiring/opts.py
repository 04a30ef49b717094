"""Options of all, also of installed plugins, and values set over the files.

An embedding program can set every option, also those that are registered late:
of plugins, of clients and of the kind of authentication.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from ironic_ownership import conf, plugins
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions

Listed = Sequence[tuple[str, Sequence[cfg.Opt]]]


def list_opts() -> Listed:
    """Return them for sample configuration, validator and documentation.

    Those of plugins that cannot be loaded, or declare them invalid, are left
    out.
    """
    from ironic_ownership.clients import options

    found = [*conf.list_opts()]
    for companion in plugins.installed(plugins.COMPANIONS):
        module: Any = companion.target
        if module is not None:
            found.append((companion.name, list(module.OPTS)))
    found += of_plugins(lambda group, name: True)
    # Last: most of them are those of authentication.
    return [*found, *options.list_opts()]


def of_plugins(
    is_wanted: Callable[[str, str], bool],
) -> Iterator[tuple[str, list[cfg.Opt]]]:
    """Yield those of plugins that can be loaded, and declare valid ones.

    :param is_wanted: whether to load a plugin, by its group and name.
    """
    for kind in (plugins.POLICIES, plugins.BACKENDS):
        for name in plugins.names(kind):
            target = is_wanted(kind, name) and plugins.find(kind, name).target
            if target:
                with contextlib.suppress(exceptions.PluginError):
                    for group, option in _described(name, target):
                        yield group, [option]


def _described(name: str, target: plugins.Class) -> list[tuple[str, cfg.Opt]]:
    """Return those of one plugin, for the sample and the validator.

    There the options of a deprecated policy are deprecated. They are not when
    they are read: oslo.config would warn in each command, and the host logs
    that the policy is deprecated.
    """
    found = configuration.declared(name, target)
    reason = getattr(target, 'deprecated', '')
    for _, option in found if reason else ():
        option.deprecated_for_removal = True
        option.deprecated_reason = reason
        # The validator warns of deprecated names only.
        option.deprecated_opts.append(cfg.DeprecatedOpt(option.name))
    return found


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
    from ironic_ownership.clients import options

    options.register_opts(conf)
    faults = _register_plugins(conf, overrides)
    faults += _set(conf, {k: v for k, v in overrides.items() if _early(k)})
    options.register_opts(conf)
    faults += _set(conf, {k: v for k, v in overrides.items() if not _early(k)})
    if faults:
        raise exceptions.ConfigurationError(faults)


def _early(option: tuple[str, str]) -> bool:
    # The kind of authentication has options of its own.
    return option[1] == 'auth_type'


def _register_plugins(conf: cfg.ConfigOpts, overrides: Overrides) -> list[str]:
    """Register the options of our plugins, and of those that are selected.

    :returns: the faults of those that can be loaded; the others are those of
        the settings.
    """
    policies = overrides.get(('ownership', 'policies'))
    if policies is None:
        policies = conf.ownership.policies or ()
    elif isinstance(policies, str):
        policies = policies.split(',')
    backend = overrides.get(('ownership', 'backend'), conf.ownership.backend)
    faults = []
    for group, selected in (
        (plugins.POLICIES, policies),
        (plugins.BACKENDS, [backend]),
    ):
        wanted = {str(name).strip() for name in selected}
        for name in plugins.names(group):
            if name not in wanted and not plugins.is_own(group, name):
                continue
            try:
                if target := plugins.find(group, name).target:
                    configuration.register(conf, name, target)
            except exceptions.PluginError as exc:
                faults.append(str(exc))
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
            fault = configuration.unreadable(group, name, exc)
            # It may be a secret.
            faults.append(fault.replace(repr(value), '***'))
    return faults
