"""Nova's two schemas, from a dump that is made once.

``nova-manage`` takes most of a minute to create them. So their definitions are
dumped the first time, beside the cached virtual environment, and restored in
seconds afterwards. Another release of Nova has another environment, and so a
dump of its own.
"""

from __future__ import annotations

import fcntl
import pathlib

from lab import mariadb, process

API, CELL0, CELL1 = 'nova_api', 'nova_cell0', 'nova_cell1'
"""Names of the databases."""

CELL0_UUID = '00000000-0000-0000-0000-000000000000'
CELL1_UUID = '11111111-1111-4111-8111-111111111111'
_SYNC = {API: ('api_db', 'sync'), CELL1: ('db', 'sync', '--local_cell')}


def create(
    database: mariadb.MariaDB, venv: pathlib.Path, directory: pathlib.Path
) -> None:
    """Create Nova's databases on a server, without any row.

    :param venv: where Nova is installed.
    :param directory: for the files of ``nova-manage``.
    :raises LabError: if a program refuses.
    """
    dumps = {name: venv / f'schema-{name}.sql' for name in _SYNC}
    with (venv / 'schema.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(dump.exists() for dump in dumps.values()):
            _make(database, venv, directory, dumps)
    for name in (API, CELL0, CELL1):
        database.create_database(name)
        dump = dumps[API if name == API else CELL1]
        database.restore(name, dump.read_bytes())


def map_cells(database: mariadb.MariaDB, transport: str) -> None:
    """Record the two cells, as ``nova-manage cell_v2`` does.

    :param transport: the URL of the message bus of the first cell.
    """
    for uuid, name, bus in (
        (CELL0_UUID, CELL0, 'none:///'),
        (CELL1_UUID, CELL1, transport),
    ):
        database.query(
            f'INSERT INTO {API}.cell_mappings (created_at, uuid, name, '
            'transport_url, database_connection, disabled) VALUES (NOW(), '
            f"'{uuid}', '{name.removeprefix('nova_')}', '{bus}', "
            f"'{database.url(name)}?charset=utf8mb4', 0)"
        )


def _make(
    database: mariadb.MariaDB,
    venv: pathlib.Path,
    directory: pathlib.Path,
    dumps: dict[str, pathlib.Path],
) -> None:
    config = directory / 'schema.conf'
    config.write_text(
        f'[database]\nconnection = {database.url(CELL1)}?charset=utf8mb4\n'
        f'[api_database]\nconnection = {database.url(API)}?charset=utf8mb4\n'
    )
    running = []
    for name, command in _SYNC.items():
        database.create_database(name)
        running.append(
            process.Process(
                [
                    *(str(venv / 'bin' / 'nova-manage'), '--config-file'),
                    *(str(config), *command),
                ],
                directory / f'{name}-sync.log',
            ).start()
        )
    for one in running:
        if one.wait(600):
            raise process.LabError(f'Nova has no schema: {one.tail()}')
    for name, dump in dumps.items():
        _dump(database, name, dump)
        database.query(f'DROP DATABASE {name}')


def _dump(
    database: mariadb.MariaDB, name: str, destination: pathlib.Path
) -> None:
    unfinished = destination.with_suffix('.part')
    unfinished.write_bytes(database.dump(name))
    unfinished.replace(destination)
