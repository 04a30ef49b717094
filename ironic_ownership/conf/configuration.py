"""Configuration of a process: its files, and the options that count in them.

Those of the core are registered here, and those that companions and plugins
declare. There is no global configuration object: callers pass theirs.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oslo_config import cfg, types

from ironic_ownership import plugins
from ironic_ownership.conf import core
from ironic_ownership.contracts import (
    exceptions,
    extras,
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

PROJECT = 'ironic-ownership'
_NOVA = 'nova'

_PLACES = ('~/.ironic-ownership', '~', '/etc/ironic-ownership', '/etc')
"""Where oslo.config looks for the files, see ``cfg.find_config_files``."""


_LOCATION = re.compile(r" from LocationInfo\(.*detail='(.*?)'\)")
_DOLLAR = 'a $ is written $$'


class Configuration(cfg.ConfigOpts):
    """A parsed configuration.

    :ivar searches: whether it was looked for in the usual places.
    """

    searches = True

    def _do_get(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._do_get(*args, **kwargs)
        except cfg.ConfigSourceValueError as exc:
            # The file is of use, and its place in oslo.config is not.
            raise type(exc)(_LOCATION.sub(r' in \1', str(exc))) from exc

    def _convert_value(self, value: Any, opt: cfg.Opt) -> Any:
        found = super()._convert_value(value, opt)
        # oslo.config compares nan with minimum and maximum, and takes it.
        if isinstance(found, float) and not math.isfinite(found):
            raise ValueError(f'{found} is not a finite number')
        return found

    def _substitute(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._substitute(*args, **kwargs)
        except cfg.Error:
            # Its text may be a part of a password.
            raise cfg.ConfigSourceValueError(_DOLLAR) from None


def register_opts(conf: cfg.ConfigOpts, *, logs: bool = True) -> None:
    """Register the core options; plugins and clients register their own.

    :param logs: also those of oslo.log, whose import takes long.
    """
    if logs:
        from oslo_log import log

        log.register_options(conf)
        log.set_defaults(
            default_log_levels=[*log.get_default_log_levels(), 'alembic=WARN']
        )
    for group, opts in core.OPTS.items():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)


def new(
    argv: Sequence[str], prog: str, *, logs: bool = True, search: bool = True
) -> Configuration:
    """Read the configuration files and return the core options.

    :param argv: ``--config-file`` and ``--config-dir`` arguments, if any.
    :param prog: name of the program, for error messages.
    :param logs: whether these files configure the log.
    :param search: whether the usual places below ``/etc`` and the home are
        read without arguments.
    :raises cfg.Error: if a file can't be read or a value has a wrong type.
    :raises ConfigurationError: if a file is not text, or not a file; and if
        a companion that it configures cannot be loaded.
    """
    conf = Configuration()
    conf.searches = search
    register_opts(conf, logs=logs)
    files = cfg.find_config_files(PROJECT, PROJECT) if search else []
    directories = cfg.find_config_dirs(PROJECT, PROJECT) if search else []
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            conf(
                list(argv),
                project=PROJECT,
                prog=prog,
                default_config_files=files,
                default_config_dirs=directories,
            )
    except SystemExit as exc:
        # oslo.config exits on a wrong value of an option that is also an
        # argument, such as debug.
        raise exceptions.ConfigurationError(
            [f'[DEFAULT] {output.getvalue().strip()}']
        ) from exc
    except OSError as exc:
        raise exceptions.ConfigurationError(
            [f'configuration file {exc.filename}: {exc.strerror}']
        ) from exc
    except UnicodeDecodeError as exc:
        # oslo.config does not report which file it was.
        read = ' '.join(argv) or ' '.join([*files, *directories])
        raise exceptions.ConfigurationError(
            [f'a configuration file is not text in UTF-8: {read}']
        ) from exc
    add_companions(conf)
    return conf


def add_companions(conf: cfg.ConfigOpts) -> None:
    """Load the companions whose group is configured, with their options.

    :raises ConfigurationError: if one is not installed or cannot be loaded.
    """
    groups = {*conf.list_all_sections()}
    # oslo.config also reads OS_GROUP__NAME.
    groups |= {
        name[3:].partition('__')[0].lower()
        for name in os.environ
        if name.startswith('OS_') and '__' in name
    }
    installed = plugins.names(plugins.COMPANIONS)
    if _NOVA in groups and _NOVA not in installed:
        raise exceptions.ConfigurationError(
            [f'[{_NOVA}] is for {extras.NOVA}, which is not installed'],
            hint=extras.directory_hint('./nova_driver'),
        )
    found = plugins.companions(groups.intersection(installed))
    for group, module in found.items():
        conf.register_opts(module.OPTS, group)


def common_options(conf: cfg.ConfigOpts) -> tuple[str, ...]:
    """Return the lines that all processes of a deployment need alike.

    Not those with an address: machines may know a server by other names.
    """
    lines = [f'[ownership] backend = {conf.ownership.backend.strip()}']
    for name, module in plugins.loaded_companions().items():
        if name in conf and hasattr(module, 'common_options'):
            lines += module.common_options(conf)
    return tuple(lines)


def database_url(conf: cfg.ConfigOpts) -> str:
    """Return ``[database] connection``.

    :raises ConfigurationError: if that is the default only because no file
        was found: another directory would hold an empty database.
    """
    found = conf.get_location('connection', 'database')
    if (
        getattr(conf, 'searches', True)
        and not conf.config_file
        and not conf.config_dir
        and (found is None or found.location is cfg.Locations.opt_default)
    ):
        places = (str(pathlib.Path(place).expanduser()) for place in _PLACES)
        fault = (
            f'no configuration file was found: neither {PROJECT}.conf nor '
            f'{PROJECT}.conf.d in {", ".join(places)}'
        )
        raise exceptions.ConfigurationError(
            [fault],
            hint='Name it with --config-file, and let this user read it and '
            'its directory',
        )
    url: str = conf.database.connection
    return url


def register(conf: cfg.ConfigOpts, name: str, target: plugins.Class) -> None:
    """Register the options that a loaded plugin declares.

    :raises PluginError: if one is invalid, or another package declares one
        of that name differently.
    """
    for group, option in declared(name, target):
        with _faults_of(name, target, group, option.name):
            conf.register_opt(option, group)


def declared(name: str, target: plugins.Class) -> list[tuple[str, cfg.Opt]]:
    """Return group and option of oslo.config for each declared option.

    Those of policies are mutable: a host applies them at SIGHUP.

    :raises PluginError: naming an option that is invalid.
    """
    found = []
    for option in target.options:
        group = group_of(name, target, option)
        with _faults_of(name, target, group, option.name):
            made = to_oslo(option)
            made.mutable = issubclass(target, policy.Policy)
            found.append((group, made))
    return found


@contextlib.contextmanager
def _faults_of(
    name: str, target: plugins.Class, group: str, option: str
) -> Iterator[None]:
    try:
        yield
    except Exception as exc:
        cause = f'its option {option!r} is invalid: {texts.described(exc)}'
        if isinstance(exc, cfg.DuplicateOptError):
            place = f'[{group}] {option}'
            cause = f'its option {place} has the name of another option'
        is_policy = issubclass(target, policy.Policy)
        kind = plugins.POLICIES if is_policy else plugins.BACKENDS
        raise plugins.broken(kind, name, cause) from exc


def group_of(name: str, target: plugins.Class, option: options.Option) -> str:
    """Return the configuration group of a plugin's option."""
    kind = 'policy' if issubclass(target, policy.Policy) else 'backend'
    return option.group or f'{kind}_{name}'


def values(
    conf: cfg.ConfigOpts, name: str, target: plugins.Class
) -> dict[str, model.Value]:
    """Return a value for each option of a selected plugin.

    :raises ConfigurationError: listing every fault.
    """
    found: dict[str, model.Value] = {}
    faults = []
    for option in target.options:
        group = group_of(name, target, option)
        try:
            found[option.name] = frozen(conf[group][option.name])
        except (ValueError, cfg.Error) as exc:
            faults.append(
                unreadable(group, option.name, exc, secret=option.secret)
            )
            continue
        objection = wrong(option, found[option.name])
        if objection and option.secret and found[option.name]:
            objection = objection.replace(str(found[option.name]), '***')
        if objection:
            faults.append(f'[{group}] {option.name}: {objection}')
        if option.required and found[option.name] is None:
            faults.append(
                f'{name!r} is selected, but its option is missing: '
                f'add "{option.name} = ..." to [{group}]'
            )
    if faults:
        raise exceptions.ConfigurationError(faults)
    return found


def backend(conf: cfg.ConfigOpts, configured: str) -> Backend:
    """Read a membership backend and its options only.

    :returns: its class, and a value for each declared option.
    :raises ConfigurationError: if it can't be used.
    """
    name = configured.strip()
    if name in _STORES and name not in plugins.names(plugins.BACKENDS):
        fault = (
            f'[ownership] backend: {name!r} is reached by the backend tooz: '
            f'set backend = tooz, and backend_url = {_STORES[name]} in '
            '[backend_tooz]'
        )
        raise exceptions.ConfigurationError([fault])
    target = plugins.backend_class(name)
    try:
        register(conf, name, target)
    except exceptions.PluginError as exc:
        raise exceptions.ConfigurationError([str(exc)]) from exc
    found, database = values(conf, name, target), conf.database
    # They belong to the URL of the records, as TLS may.
    if name == 'db' and found['connection'] == database.connection:
        found['connection_parameters'] = database.connection_parameters
    return target, found


def unreadable(
    group: str, name: str, exc: Exception, *, secret: bool = False
) -> str:
    """Return the fault of an option whose value oslo.config refuses.

    :param secret: whether the text of oslo.config, which quotes the value,
        must not be shown: the fault is logged, stored and answered.
    """
    # oslo.config's text begins with the option and the file.
    cause = str(exc).rpartition(' is not valid: ')[2]
    if secret and cause != _DOLLAR:
        cause = 'the value, which is secret, is not valid'
    return f'[{group}] {name}: {cause}'


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
