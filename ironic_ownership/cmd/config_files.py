"""The arguments that every executable takes to find its configuration."""

from __future__ import annotations

import argparse


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
    # In one word each: a name may begin with a dash.
    files = [f'--config-file={path}' for path in args.config_file]
    return [*files, *(f'--config-dir={path}' for path in args.config_dir)]
