"""``ironic-ownership-dbsync``: upgrade the database, and delete old history.

Server databases change only when their operator says so, with this command.
Must not do anything else to the records.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from ironic_ownership import program
from ironic_ownership.conf.configuration import database_url, new
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.db import connection, purge, schema, tables

PROG = 'ironic-ownership-dbsync'

_DESCRIPTION = """\
Create and upgrade the tables of the database that [database] connection
names. A database on PostgreSQL or MariaDB needs "upgrade" once before the
first start of any ironic-ownership service, and again after each upgrade of
the package. An SQLite file is upgraded automatically.

"purge" deletes old history; run it once a day, for example from cron. It may
run next to all services, and may be interrupted.
"""
_EPILOG = """\
examples:
  ironic-ownership-dbsync --config-file ironic-ownership.conf upgrade
  ironic-ownership-dbsync version
  ironic-ownership-dbsync purge --days 365 --dry-run
  ironic-ownership-dbsync purge --before 2025-01-31
"""
_PURGE = """\
Delete events, finished moves, closed instances and reservations, records of
deleted nodes, and expired members, that are older than a date. Nothing that
can still change is deleted: no open instance or reservation, no move that can
be resumed. The events of deleted services stay, because they hold the last
epochs.
"""
_DAY = 86400.0
_LOCKED = 30.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    :param argv: arguments; those of the process by default.
    :returns: 0, or 1 when it could not be done. Wrong usage exits with 2.
    """
    args = _parser().parse_args(argv)
    try:
        return _run(args)
    except (exceptions.OwnershipError, cfg.Error) as exc:
        program.report(PROG, exc)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = program.parser(
        PROG,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
            help=f'revision to go to (default: head, which is {tables.HEAD})',
        )
    purging = commands.add_parser(
        'purge',
        help='delete old history, in short transactions',
        description=_PURGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    limit = purging.add_mutually_exclusive_group(required=True)
    limit.add_argument(
        '--before',
        type=_moment,
        metavar='DATE',
        help='delete what ended before this date or time: 2025-01-31 or '
        '2025-01-31T22:00, UTC unless it has an offset',
    )
    limit.add_argument(
        '--days',
        type=program.within(int, 1, 36500),
        metavar='N',
        help='delete what ended more than N days ago, at least 1',
    )
    purging.add_argument(
        '--dry-run',
        action='store_true',
        help='only count what would be deleted',
    )
    return parser


def _moment(text: str) -> float:
    try:
        return texts.parse_moment(text).timestamp()
    except (ValueError, OverflowError) as exc:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a date such as 2025-01-31'
        ) from exc


def _purge(database: connection.Database, args: argparse.Namespace) -> str:
    schema.ensure(database, create=False)
    now = purge.now(database)
    before = args.before
    if before is None:
        before = now - args.days * _DAY
    elif before > now:
        raise exceptions.ConfigurationError(
            ['--before is in the future, by the clock of the database'],
            hint='Name a date that has passed',
        )
    work = purge.count if args.dry_run else purge.run
    what = 'would be deleted' if args.dry_run else 'deleted'
    return '\n'.join(
        f'{name}: {number} {what}'
        for name, number in work(database, before).items()
    )


def _run(args: argparse.Namespace) -> int:
    conf = new(program.chosen(args), PROG)
    database = connection.open_database(
        database_url(conf),
        # An index of a long history takes minutes, but requests of services
        # queue behind a change of a table that waits for its lock.
        statement_timeout=_DAY if args.command == 'upgrade' else _LOCKED,
        lock_timeout=_LOCKED,
        **connection.engine_options(conf.database),
    )
    commands: dict[str, Callable[[], str | None]] = {
        'version': database.revision,
        'upgrade': lambda: schema.upgrade(database, args.revision),
        'stamp': lambda: schema.stamp(database, args.revision),
        'purge': lambda: _purge(database, args),
    }
    with contextlib.closing(database):
        result = commands[args.command]()
    sys.stdout.write(f'{result or "none"}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
