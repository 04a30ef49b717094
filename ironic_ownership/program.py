"""The installed program: its version, common arguments and errors.

Imports the standard library only: see ``cmd.host``.
"""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

DISTRIBUTION = 'ironic-ownership'
HOST = 'ironic-ownership-host'
"""The program that owns nodes."""


def version() -> str:
    """Return the name and version of the installed distribution."""
    return f'{DISTRIBUTION} {number()}'


def number() -> str:
    """Return the version of the installed distribution."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return 'not installed'


def parser(prog: str, **how: Any) -> argparse.ArgumentParser:
    """Return a parser with ``--version``, and those of the configuration."""
    import argparse

    made = argparse.ArgumentParser(prog=prog, **how)
    made.add_argument('--version', action='version', version=version())
    add_arguments(made)
    return made


def within(
    kind: type[float], least: float, most: float
) -> Callable[[str], Any]:
    """Return the type of an argument: a number in these limits."""

    def read(text: str) -> float:
        if not least <= kind(text) <= most:
            import argparse

            raise argparse.ArgumentTypeError(
                f'{text} is not in {least} to {most}'
            )
        return kind(text)

    # argparse names it where the text is no number.
    read.__name__ = 'int' if kind is int else 'number'
    return read


def report(prog: str, error: Exception) -> None:
    """Write an error to standard error, in one line."""
    text = ' '.join(str(error).split())
    sys.stderr.write(f'{prog}: error: {text}\n')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--config-file`` and ``--config-dir``."""
    parser.add_argument(
        '--config-file',
        action='append',
        default=[],
        metavar='FILE',
        help='configuration file; may be repeated, the last value wins '
        '(default: ironic-ownership.conf in the usual places, such as '
        '/etc/ironic-ownership)',
    )
    parser.add_argument(
        '--config-dir',
        action='append',
        default=[],
        metavar='DIR',
        help='directory whose *.conf files are read after the files',
    )


def chosen(args: argparse.Namespace) -> list[str]:
    """Return the parsed arguments in the form that oslo.config reads."""
    return arguments(args.config_file, args.config_dir)


def arguments(files: Iterable[str], directories: Iterable[str]) -> list[str]:
    """Return the configuration that is named, as oslo.config reads it."""
    # In one word each: a name may begin with a dash.
    return [
        *(f'--config-file={path}' for path in files),
        *(f'--config-dir={path}' for path in directories),
    ]
