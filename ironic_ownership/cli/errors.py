"""Errors of the command line: one line, and an exit code.

The codes are public interface, see ``--help``; each error has its own.
"""

from __future__ import annotations

import enum
import logging
import sys
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.engine import suggestions

PROG = 'ironic-ownership'

_FAMILIES = (exceptions.OwnershipError, OSError)

unknown, nearest = suggestions.unknown, suggestions.nearest


class ExitCode(enum.IntEnum):
    """The exit codes of a command."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    REFUSED = 3
    DEGRADED = 4
    INTERRUPTED = 130
    """128 and the number of SIGINT."""
    BROKEN_PIPE = 141
    """128 and the number of SIGPIPE."""


class UsageError(exceptions.OwnershipError):
    """The command was called with something that it does not take."""

    code = 'usage'
    exit_code = ExitCode.USAGE


def no_column(name: str, shown: Sequence[str], long: bool) -> UsageError:
    """Return the error for a column that is not shown.

    :param long: whether ``--long`` shows it.
    """
    if long:
        return UsageError(
            f'column {name!r} is shown only with --long', hint='Add --long'
        )
    return UsageError(
        f'there is no column {name!r}', hint=nearest(name, shown)
    )


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of a command that ended with this error."""
    if isinstance(error, exceptions.OwnershipError):
        return ExitCode(error.exit_code)
    if isinstance(error, BrokenPipeError):
        return ExitCode.BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ExitCode.ERROR


def line(error: BaseException) -> str:
    """Return the error in one line, as an operator wants to read it."""
    text = texts.printable(' '.join(str(error).split()))
    if isinstance(error, _FAMILIES) or _is_configuration(error):
        return text
    return (
        f'unexpected {type(error).__name__}: {text}. This is a fault of the '
        'program: please report it, with the output of --debug'
    )


def _is_configuration(error: BaseException) -> bool:
    # Before oslo.config is imported, no error can be one of its own.
    cfg = sys.modules.get('oslo_config.cfg')
    return cfg is not None and isinstance(error, cfg.Error)


def report(error: BaseException) -> None:
    """Write the error to standard error, without a traceback."""
    sys.stderr.write(f'{PROG}: error: {line(error)}\n')


class Formatter(logging.Formatter):
    """Shows log lines of this program's own errors as :func:`line` does."""

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record.msg, BaseException):
            record.msg, record.args = line(record.msg), ()
        record.message = texts.printable(record.getMessage())
        text = f'{PROG}: {record.levelname.lower()}: {record.message}'
        if record.exc_info:
            text = f'{text}\n{self.formatException(record.exc_info)}'
        return text


class FileFormatter(logging.Formatter):
    """Writes log lines of which no text can make several."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return the line without what is not printable."""
        record.message = texts.printable(record.message)
        return super().formatMessage(record)
