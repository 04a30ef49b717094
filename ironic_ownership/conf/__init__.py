"""The options of the project: what they are called, mean and default to.

Options only. Nothing here reads a value or decides anything, and there is no
global configuration object: whoever needs one is handed it.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence

from oslo_config import cfg

from ironic_ownership.conf import api, database, default, membership, ownership
from ironic_ownership.contracts import exceptions

PROJECT = 'ironic-ownership'
_MODULES = (default, ownership, membership, database)


def register_opts(conf: cfg.ConfigOpts, *, logs: bool = True) -> None:
    """Register the core options; plugins and clients bring their own.

    :param logs: those of oslo.log, too, which takes long to import.
    """
    if logs:
        _register_logs(conf)
    for module in _MODULES:
        module.register_opts(conf)


def _register_logs(conf: cfg.ConfigOpts) -> None:
    from oslo_log import log

    log.register_options(conf)
    log.set_defaults(
        default_log_levels=[*log.get_default_log_levels(), 'alembic=WARN']
    )


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the core options by group, for the sample and the validator.

    Those of the HTTP service, too, which registers them by itself: what
    changes there does not concern a host.
    """
    modules = (*_MODULES, api)
    return [(module.GROUP, list(module.OPTS)) for module in modules]


def new(
    argv: Sequence[str], prog: str, *, logs: bool = True
) -> cfg.ConfigOpts:
    """Read the configuration files and return the core options.

    :param argv: ``--config-file`` and ``--config-dir`` arguments, if any;
        without them the usual places below ``/etc`` and the home are tried.
    :param prog: name of the program, for error messages.
    :param logs: whether the program logs as these files say.
    :raises cfg.Error: if a file can't be read or a value has no such type.
    :raises ConfigurationError: if a file is no text, or no file.
    """
    conf = cfg.ConfigOpts()
    register_opts(conf, logs=logs)
    files = cfg.find_config_files(PROJECT, PROJECT)
    directories = cfg.find_config_dirs(PROJECT, PROJECT)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            conf(
                list(argv),
                project=PROJECT,
                prog=prog,
                default_config_files=files,
                default_config_dirs=directories,
            )
    except SystemExit as exc:
        # That is how oslo.config takes a wrong value of an option that
        # could also be an argument, such as debug.
        raise exceptions.ConfigurationError(
            [f'[DEFAULT] {said.getvalue().strip()}']
        ) from exc
    except OSError as exc:
        raise exceptions.ConfigurationError(
            [f'configuration file {exc.filename}: {exc.strerror}']
        ) from exc
    except UnicodeDecodeError as exc:
        # oslo.config does not say which of the files it was.
        read = ' '.join(argv) or ' '.join([*files, *directories])
        raise exceptions.ConfigurationError(
            [f'a configuration file is not text in UTF-8: {read}']
        ) from exc
    return conf
