"""``ironic-ownership-dbsync``: bring the records' database up to date.

Server databases change only when their operator says so, with this command.
Must not do anything else to the records.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from ironic_ownership import version
from ironic_ownership.cmd import config_files
from ironic_ownership.conf import new
from ironic_ownership.contracts import exceptions
from ironic_ownership.db import connection, schema

PROG = 'ironic-ownership-dbsync'

_DESCRIPTION = """\
Create and upgrade the tables of the database that [database] connection
names. A database on PostgreSQL or MariaDB needs "upgrade" once before the
first start of any ironic-ownership service, and again after each upgrade of
the package. An SQLite file is upgraded by itself.
"""
_EPILOG = """\
examples:
  ironic-ownership-dbsync --config-file ironic-ownership.conf upgrade
  ironic-ownership-dbsync version
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    :param argv: arguments; those of the process by default.
    :returns: 0, or 1 when it could not be done. Wrong usage exits with 2.
    """
    args = _parser().parse_args(argv)
    try:
        return _run(args)
    except (exceptions.OwnershipError, cfg.Error) as exc:
        text = ' '.join(str(exc).split())
        sys.stderr.write(f'{PROG}: error: {text}\n')
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=version.text())
    config_files.add_arguments(parser)
    commands = parser.add_subparsers(
        title='commands', dest='command', required=True, metavar='COMMAND'
    )
    commands.add_parser(
        'version', help='print the revision of the schema, or "none"'
    )
    upgrade = commands.add_parser(
        'upgrade', help='create the tables, or bring them up to date'
    )
    stamp = commands.add_parser(
        'stamp',
        help='record a revision without touching a table; only for a schema '
        'that was brought to that revision by other means',
    )
    for command in (upgrade, stamp):
        command.add_argument(
            '--revision',
            default='head',
            help=f'revision to go to (default: head, which is {schema.HEAD})',
        )
    return parser


def _run(args: argparse.Namespace) -> int:
    conf = new(config_files.chosen(args), PROG)
    database = connection.open_database(
        conf.database.connection,
        **connection.engine_options(conf.database),
    )
    commands: dict[str, Callable[[], str | None]] = {
        'version': lambda: schema.version(database),
        'upgrade': lambda: schema.upgrade(database, args.revision),
        'stamp': lambda: schema.stamp(database, args.revision),
    }
    try:
        revision = commands[args.command]()
    finally:
        database.close()
    sys.stdout.write(f'{revision or "none"}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
