"""Conversion of declared options of plugins to those of oslo.config."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg, types

from ironic_ownership.contracts import options


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
