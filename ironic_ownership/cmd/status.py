"""``ironic-ownership-status``: check whether an upgrade can go on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from ironic_ownership import program, wiring
from ironic_ownership.conf.configuration import (
    PROJECT,
    Configuration,
    add_companions,
    database_url,
    register_opts,
)
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.reservations import METHOD
from ironic_ownership.db import (
    connection,
    moves,
    reservations,
    schema,
    tables,
)
from ironic_ownership.wiring import unknown_options

Result = upgradecheck.Result
Code = upgradecheck.Code


def _failure(exc: Exception) -> Result:
    return Result(Code.FAILURE, ' '.join(str(exc).split()))


def _check_schema(database: connection.Database) -> Result:
    """Check that this release can use the schema."""
    found = database.revision()
    if found != tables.HEAD and database.is_file:
        schema.check_known(database, found)
        return Result(
            Code.SUCCESS, f'Is upgraded to {tables.HEAD} at the first start'
        )
    schema.ensure(database)
    return Result(Code.SUCCESS)


def _check_moves(database: connection.Database) -> Result:
    """Check that no move was interrupted."""
    unfinished = moves.SqlMoves(database).moves(unfinished=True, limit=None)
    if not unfinished:
        return Result(Code.SUCCESS)
    commands = texts.listed(
        [
            f'ironic-ownership move resume {move.request_id}'
            for move in unfinished
        ]
    )
    return Result(
        Code.WARNING,
        'Moves were interrupted. Finish them with the release that began '
        f'them: {commands}',
    )


def _check_reservations(database: connection.Database) -> Result:
    """Check that no reservation needs what earlier releases did."""
    found = [
        one.id
        for one in reservations.SqlReservations(database).reservations()
        # A confirmed one ends when Ironic undeploys its node.
        if one.method != METHOD and not one.confirmed
    ]
    if not found:
        return Result(Code.SUCCESS)
    return Result(
        Code.FAILURE,
        'Only the release that made these reservations can release their '
        'nodes, which have no allocation in Ironic. With that release run '
        '"ironic-ownership reservation confirm" for those in use, and '
        f'"reservation delete" for the others: {texts.listed(found)}',
    )


class Checks(upgradecheck.UpgradeCommands):
    """Run with the new package and the configuration of a service.

    :param conf: read before a check runs.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def configuration(self) -> Result:
        """Check that a service of this release accepts the configuration."""
        with contextlib.closing(wiring.Wiring(self._conf)) as wired:
            try:
                add_companions(self._conf)
                remarks = (
                    *wired.settings.remarks,
                    *unknown_options.remarks(self._conf),
                )
            except exceptions.OwnershipError as exc:
                return _failure(exc)
        if remarks:
            return Result(Code.WARNING, '. '.join(remarks))
        return Result(Code.SUCCESS)

    def _read(self, check: Callable[[connection.Database], Result]) -> Result:
        try:
            database = connection.open_database(
                database_url(self._conf),
                **connection.engine_options(self._conf.database),
            )
            with contextlib.closing(database):
                known = database.is_current
                if known or check is _check_schema:
                    return check(database)
                return Result(Code.SUCCESS, 'Not read on this schema')
        except (exceptions.OwnershipError, cfg.Error) as exc:
            return _failure(exc)

    _upgrade_checks = (
        ('Configuration', configuration),
        ('Schema of the records', (_read, {'check': _check_schema})),
        ('Unfinished moves', (_read, {'check': _check_moves})),
        (
            'Reservations without an allocation',
            (_read, {'check': _check_reservations}),
        ),
    )


PROG = 'ironic-ownership-status'


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``upgrade check [--json]``, which writes nothing; or ``--version``.

    :param argv: arguments; those of the process by default.
    :returns: 0 if the services can be restarted, 1 after a warning, 2 if a
        service of this release would not start or not work, 255 if the
        configuration can't be read. Wrong usage exits with 2, too.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv == ['--version']:
        sys.stdout.write(f'{program.version()}\n')
        return 0
    conf = Configuration()
    # The options of the log would appear as arguments.
    register_opts(conf, logs=False)
    try:
        return int(
            upgradecheck.main(
                conf,
                PROJECT,
                Checks(conf),
                argv,
                cfg.find_config_files(PROJECT, PROJECT),
            )
        )
    except (cfg.Error, exceptions.OwnershipError, OSError, ValueError) as exc:
        program.report(PROG, exc)
        return 255


if __name__ == '__main__':
    sys.exit(main())
