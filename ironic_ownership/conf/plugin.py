"""Options of plugins: declared by them, registered and read by oslo.config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oslo_config import cfg, types

from ironic_ownership import plugins
from ironic_ownership.contracts import model, options, policy


def register(conf: cfg.ConfigOpts, name: str, target: plugins.Class) -> None:
    """Register the options that a loaded plugin declares.

    :raises cfg.DuplicateOptError: if two plugins declare one option
        differently.
    """
    for option in target.options:
        conf.register_opt(to_oslo(option), group_of(name, target, option))


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
            missing.append(unreadable(group, option.name, exc))
            continue
        if option.required and found[option.name] is None:
            missing.append(
                f'{name!r} is selected, but its option is missing: '
                f'add "{option.name} = ..." to [{group}]'
            )
    faults.extend(missing)
    return None if missing else found


def unreadable(group: str, name: str, exc: Exception) -> str:
    """Return the fault of an option whose value oslo.config refuses."""
    # oslo.config's text begins with its internal name of the place.
    cause = str(exc).rpartition(' is not valid: ')[2]
    return f'[{group}] {name}: {cause}'


def _raw(
    conf: cfg.ConfigOpts, group: str, option: options.Option
) -> model.Value:
    value = conf[group][option.name]
    return tuple(value) if isinstance(value, list) else value


def to_oslo(option: options.Option) -> cfg.Opt:
    """Return the option of oslo.config for a declared one."""
    default = option.default
    return cfg.Opt(
        option.name,
        type=_TYPES[option.type](option),
        default=list(default) if isinstance(default, tuple) else default,
        help=option.help,
        secret=option.secret,
        deprecated_opts=[cfg.DeprecatedOpt(name) for name in option.aliases],
    )


def _string(option: options.Option) -> types.ConfigType:
    length = None if option.maximum is None else int(option.maximum)
    regex = None if option.regex is None else f'^(?:{option.regex})$'
    return types.String(regex=regex, max_length=length)


def _number(kind: type[types.Integer] | type[types.Float]) -> Any:
    return lambda option: kind(min=option.minimum, max=option.maximum)


_TYPES = {
    options.OptionType.STRING: _string,
    options.OptionType.INTEGER: _number(types.Integer),
    options.OptionType.FLOAT: _number(types.Float),
    options.OptionType.BOOLEAN: lambda option: types.Boolean(),
    options.OptionType.LIST: lambda option: types.List(),
}
