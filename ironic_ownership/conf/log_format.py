"""Log lines that no text can forge, without the text of an error twice.

oslo.log appends the class and the text of an exception that is being handled
to every warning. The messages of this package have the text already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from oslo_config import cfg
from oslo_log import formatters, log

from ironic_ownership.contracts import exceptions, extras, texts

_PACKAGE = 'ironic_ownership'

Levels = Mapping[str, int]
"""By name of the logger; '' is the root."""


class _Once(logging.Formatter):
    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        # A name in a request may have line feeds, and commands for terminals.
        record.msg, record.args = texts.printable(record.getMessage()), ()
        head, *traceback = self._inner.format(record).split('\n')
        text = '\n'.join([head, *map(texts.printable, traceback)])
        if record.exc_info or record.name.partition('.')[0] != _PACKAGE:
            return text
        summary = getattr(record, 'error_summary', '')
        return text.removesuffix(f': {summary}') if summary else text


def setup(conf: cfg.ConfigOpts, prog: str) -> None:
    """Set up the log as configured.

    :raises ConfigurationError: if the log can't be written as configured.
    """
    try:
        if conf.log_rotate_interval < 1:
            raise ValueError('log_rotate_interval is less than 1')
        log.setup(conf, prog)
    # oslo.log raises a TypeError for an unknown syslog_log_facility.
    except (OSError, TypeError, ValueError, log.LogConfigError) as exc:
        raise exceptions.ConfigurationError(
            [f'cannot log: {exc}'],
            hint='Correct log_file or another one of the log in [DEFAULT]',
        ) from exc
    except RuntimeError as exc:
        # oslo.log has no error of its own for its missing bindings.
        if not conf.use_journal:
            raise
        raise exceptions.ConfigurationError(
            [f'[DEFAULT] use_journal cannot be used: {exc}'],
            hint=f'{extras.hint("journal")}; or remove the line: systemd '
            'writes the standard error of its units to the journal, too',
        ) from exc
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(_Once(handler.formatter))


def read_levels(conf: cfg.ConfigOpts) -> Levels:
    """Return the levels that are configured.

    :returns: none, if log_config_append configures the log.
    :raises ConfigurationError: if there is no such level.
    """
    if conf.log_config_append:
        return {}
    known = logging.getLevelNamesMapping()
    levels = {'': logging.DEBUG if conf.debug else logging.INFO}
    for pair in conf.default_log_levels:
        name, _, text = pair.partition('=')
        level = int(text) if text.isdecimal() else known.get(text)
        if level is None:
            raise exceptions.ConfigurationError(
                [f'[DEFAULT] default_log_levels: no such level: {pair!r}']
            )
        levels[name] = level
    return levels


def change_levels(before: Levels, after: Levels) -> None:
    """Change the levels; a logger that is no longer named inherits one.

    No line is lost in the change, as it would be if the log was set up again.
    """
    for name in before.keys() - after.keys():
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in after.items():
        logging.getLogger(name).setLevel(level)
