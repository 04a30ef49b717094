"""A private MariaDB server, without passwords, on the loopback interface."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess

import pymysql

from lab import process, server

_USER = 'mysql'


class MariaDB(server.Server):
    """One server with a data directory of its own."""

    title = 'MariaDB'

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(directory)
        self._data = directory / 'data'

    def _prepare(self) -> process.Process:
        if not self._data.exists():
            self._initialise()
        return process.Process(
            [
                _binary('mariadbd'),
                '--no-defaults',
                *_as_user(),
                f'--datadir={self._data}',
                f'--socket={self._directory / "mariadb.sock"}',
                f'--pid-file={self._directory / "mariadb.pid"}',
                # Another server that starts cleans up in a shared one.
                f'--tmpdir={self._directory}',
                f'--port={self.port}',
                '--bind-address=127.0.0.1',
                '--skip-grant-tables',
                '--skip-networking=0',
                '--skip-name-resolve',
                '--character-set-server=utf8mb4',
                # The data need not survive a power cut.
                '--innodb-flush-log-at-trx-commit=0',
            ],
            self._directory / 'mariadb.log',
        )

    def create_database(self, name: str) -> str:
        """Create a database.

        :returns: its SQLAlchemy URL.
        """
        with contextlib.closing(self._connect()) as connection:
            connection.cursor().execute(f'CREATE DATABASE `{name}`')
        return f'mysql+pymysql://root@127.0.0.1:{self.port}/{name}'

    def _connect(self) -> pymysql.Connection:
        return pymysql.connect(host='127.0.0.1', port=self.port, user='root')

    def _answers(self) -> bool:
        with contextlib.suppress(pymysql.OperationalError):
            self._connect().close()
            return True
        return False

    def _initialise(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._directory, _USER)
        initialised = subprocess.run(
            [
                _binary('mysql_install_db'),
                '--no-defaults',
                *_as_user(),
                f'--datadir={self._data}',
                f'--tmpdir={self._directory}',
                '--skip-test-db',
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if initialised.returncode:
            raise process.LabError(
                f'mysql_install_db: {initialised.stdout}{initialised.stderr}'
            )


def _as_user() -> list[str]:
    return [f'--user={_USER}'] if os.geteuid() == 0 else []


def _binary(name: str) -> str:
    path = f'{os.environ["PATH"]}:/usr/sbin'
    return server.program(name, 'mariadb-server', path)
