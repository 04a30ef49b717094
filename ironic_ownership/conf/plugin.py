"""Options of plugins: declared by them, registered and read by oslo.config."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from oslo_config import cfg, types

from ironic_ownership import plugins
from ironic_ownership.contracts import (
    exceptions,
    model,
    options,
    policy,
    texts,
)
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.calls import is_interrupt

_STORES = {
    'etcd': 'etcd3+http://host:2379',
    'etcd3': 'etcd3+http://host:2379',
    'redis': 'redis://host:6379',
    'zookeeper': 'kazoo://host:2181',
}
"""Servers that are no backend of their own, with a URL for tooz."""

Backend = tuple[type[MembershipBackend], Mapping[str, model.Value]]


def register(conf: cfg.ConfigOpts, name: str, target: plugins.Class) -> None:
    """Register the options that a loaded plugin declares.

    :raises PluginError: if one is invalid, or another package declares one
        of that name differently.
    """
    for group, option in declared(name, target):
        with _faults_of(name, target, option.name):
            try:
                conf.register_opt(option, group)
            except cfg.DuplicateOptError as exc:
                raise _fault(
                    name,
                    target,
                    f'its option [{group}] {option.name} has the name of '
                    'another option',
                ) from exc


def declared(name: str, target: plugins.Class) -> list[tuple[str, cfg.Opt]]:
    """Return group and option of oslo.config for each declared option.

    Those of policies are mutable: a host applies them at SIGHUP.

    :raises PluginError: naming an option that is invalid.
    """
    found = []
    for option in target.options:
        with _faults_of(name, target, option.name):
            made = to_oslo(option)
            made.mutable = issubclass(target, policy.Policy)
            found.append((group_of(name, target, option), made))
    return found


def described(name: str, target: plugins.Class) -> list[tuple[str, cfg.Opt]]:
    """Return them for the sample and for ``oslo-config-validator``.

    There the options of a deprecated policy are deprecated. They are not when
    they are read: oslo.config would warn in each command, and the host logs
    that the policy is deprecated.

    :raises PluginError: naming an option that is invalid.
    """
    found = declared(name, target)
    reason = getattr(target, 'deprecated', '')
    for _, option in found if reason else ():
        option.deprecated_for_removal = True
        option.deprecated_reason = reason
        # The validator warns of deprecated names only.
        option.deprecated_opts.append(cfg.DeprecatedOpt(option.name))
    return found


@contextlib.contextmanager
def _faults_of(
    name: str, target: plugins.Class, option: str
) -> Iterator[None]:
    try:
        yield
    except exceptions.PluginError:
        raise
    except Exception as exc:
        raise _fault(
            name,
            target,
            f'its option {option!r} is invalid: {texts.described(exc)}',
        ) from exc


def _fault(
    name: str, target: plugins.Class, cause: str
) -> exceptions.PluginError:
    is_policy = issubclass(target, policy.Policy)
    group = plugins.POLICIES if is_policy else plugins.BACKENDS
    return plugins.broken(group, name, cause)


def group_of(name: str, target: plugins.Class, option: options.Option) -> str:
    """Return the configuration group of a plugin's option."""
    kind = 'policy' if issubclass(target, policy.Policy) else 'backend'
    return option.group or f'{kind}_{name}'


def configured(
    conf: cfg.ConfigOpts, name: str, target: plugins.Class
) -> Iterator[tuple[str, str]]:
    """Yield group and name of each option that differs from its default."""
    for option in target.options:
        group = group_of(name, target, option)
        try:
            if _raw(conf, group, option) == option.default:
                continue
        except (ValueError, cfg.Error):
            pass  # unreadable, so it is set
        yield group, option.name


def values(
    conf: cfg.ConfigOpts,
    name: str,
    target: plugins.Class,
    faults: list[str],
) -> dict[str, model.Value] | None:
    """Return a value for each option of a selected plugin.

    :returns: ``None`` after adding to the faults.
    """
    found: dict[str, model.Value] = {}
    missing = []
    for option in target.options:
        group = group_of(name, target, option)
        try:
            found[option.name] = _raw(conf, group, option)
        except (ValueError, cfg.Error) as exc:
            missing.append(
                unreadable(group, option.name, exc, secret=option.secret)
            )
            continue
        objection = wrong(option, found[option.name])
        if objection and option.secret:
            objection = objection.replace(str(found[option.name]), '***')
        if objection:
            missing.append(f'[{group}] {option.name}: {objection}')
        if option.required and found[option.name] is None:
            missing.append(
                f'{name!r} is selected, but its option is missing: '
                f'add "{option.name} = ..." to [{group}]'
            )
    faults.extend(missing)
    return None if missing else found


def backend(conf: cfg.ConfigOpts) -> Backend:
    """Read the membership backend and its options only.

    :returns: its class, and a value for each declared option.
    :raises ConfigurationError: if it can't be used.
    """
    faults: list[str] = []
    chosen = read_backend(conf, conf.ownership.backend, faults)
    if chosen is None:
        raise exceptions.ConfigurationError(faults)
    return chosen


def read_backend(
    conf: cfg.ConfigOpts, configured: str, faults: list[str]
) -> Backend | None:
    """Read a membership backend and its options.

    :returns: ``None`` after adding to the faults.
    """
    name = configured.strip()
    if name in _STORES and name not in plugins.names(plugins.BACKENDS):
        faults.append(
            f'[ownership] backend: {name!r} is reached by the backend tooz: '
            f'set backend = tooz, and backend_url = {_STORES[name]} in '
            '[backend_tooz]'
        )
        return None
    try:
        target = plugins.backend_class(name)
        register(conf, name, target)
    except exceptions.ConfigurationError as exc:
        faults.extend(exc.faults)
        return None
    except exceptions.OwnershipError as exc:
        faults.append(str(exc))
        return None
    found = values(conf, name, target, faults)
    return None if found is None else (target, found)


def unreadable(
    group: str, name: str, exc: Exception, *, secret: bool = False
) -> str:
    """Return the fault of an option whose value oslo.config refuses.

    :param secret: whether the text of oslo.config, which quotes the value,
        must not be shown: the fault is logged, stored and answered.
    """
    if secret:
        return f'[{group}] {name}: the value, which is secret, is not valid'
    # oslo.config's text begins with its internal name of the place.
    cause = str(exc).rpartition(' is not valid: ')[2]
    return f'[{group}] {name}: {cause}'


def _raw(
    conf: cfg.ConfigOpts, group: str, option: options.Option
) -> model.Value:
    return frozen(conf[group][option.name])


def frozen(value: Any) -> model.Value:
    """Return a value as plugins get it: lists and maps as tuples."""
    if isinstance(value, dict):
        return tuple(sorted(f'{k}:{v}' for k, v in value.items()))
    return tuple(value) if isinstance(value, list) else value


def wrong(option: options.Option, value: model.Value) -> str | None:
    """Return what the plugin objects to in a value.

    Never raises: an error of the check is an objection.
    """
    if option.check is None or value is None:
        return None
    try:
        objection = option.check(value)
    except BaseException as exc:  # third-party code
        if is_interrupt(exc):
            raise
        return f'its check fails: {texts.described(exc)}'
    return None if objection is None else str(objection)


def to_oslo(option: options.Option) -> cfg.Opt:
    """Return the option of oslo.config for a declared one."""
    return cfg.Opt(
        option.name,
        type=_TYPES[option.type](option),
        default=_oslo_default(option),
        help=option.help,
        secret=option.secret,
        deprecated_opts=[cfg.DeprecatedOpt(name) for name in option.aliases],
    )


def _oslo_default(option: options.Option) -> Any:
    if not isinstance(option.default, tuple):
        return option.default
    if option.type is options.OptionType.MAP:
        return options.as_map(option.default)
    return list(option.default)


def _string(option: options.Option) -> types.ConfigType:
    length = None if option.maximum is None else int(option.maximum)
    regex = None if option.regex is None else rf'^(?:{option.regex})\Z'
    return types.String(regex=regex, max_length=length)


def _number(kind: type[types.Integer] | type[types.Float]) -> Any:
    return lambda option: kind(min=option.minimum, max=option.maximum)


_TYPES = {
    options.OptionType.STRING: _string,
    options.OptionType.INTEGER: _number(types.Integer),
    options.OptionType.FLOAT: _number(types.Float),
    options.OptionType.BOOLEAN: lambda option: types.Boolean(),
    options.OptionType.LIST: lambda option: types.List(),
    options.OptionType.MAP: lambda option: types.Dict(),
}
