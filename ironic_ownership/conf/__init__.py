"""The options of the project: names, help and defaults.

Options only: no value is read here, and there is no global configuration
object, which callers receive as a parameter.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
from collections.abc import Sequence

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf import api, core
from ironic_ownership.contracts import exceptions, extras

PROJECT = 'ironic-ownership'
_NOVA = 'nova'

_PLACES = ('~/.ironic-ownership', '~', '/etc/ironic-ownership', '/etc')
"""Where oslo.config looks for the files, see ``cfg.find_config_files``."""


class Configuration(cfg.ConfigOpts):
    """A parsed configuration.

    :ivar searches: whether it was looked for in the usual places.
    """

    searches = True


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


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the core options by group, for the sample and the validator.

    Includes those of the HTTP service, which registers them by itself: their
    changes do not concern a host.
    """
    groups = {**core.OPTS, api.GROUP: api.OPTS}
    return [(group, list(opts)) for group, opts in groups.items()]


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
