"""A private MariaDB server, without passwords, on the loopback interface."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from typing import Any

import pymysql

from lab import process, server

_USER = 'mysql'


class MariaDB(server.Database):
    """One server."""

    title = 'MariaDB'

    def _prepare(self) -> process.Process:
        if not self._data.exists():
            self._initialise()
        return process.Process(
            self._command(*self._options(), *self._more),
            self._directory / 'mariadb.log',
            env=self._env,
        )

    def _command(self, *options: str) -> list[str]:
        return [
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
            *options,
        ]

    def create_database(self, name: str) -> str:
        """Create a database.

        :returns: its SQLAlchemy URL.
        """
        self.query(f'CREATE DATABASE `{name}`')
        return self.url(name)

    def url(self, name: str) -> str:
        """Return the SQLAlchemy URL of a database."""
        return f'mysql+pymysql://root@127.0.0.1:{self.port}/{name}'

    def dump(self, name: str) -> bytes:
        """Return a backup of a database, as mariadb-dump makes it."""
        return self._run('mariadb-dump', '--single-transaction', name)

    def restore(self, name: str, backup: bytes) -> None:
        """Restore a backup over a database, table by table."""
        self._run('mariadb', name, standard_input=backup)

    def _run(
        self, program: str, *arguments: str, standard_input: bytes = b''
    ) -> bytes:
        return process.output(
            [
                _binary(program),
                *('--no-defaults', '--host=127.0.0.1'),
                *(f'--port={self.port}', '--user=root'),
                *arguments,
            ],
            standard_input=standard_input,
        )

    def query(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements of an administrator; return the rows of the last."""
        with contextlib.closing(self._connect()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def _options(self) -> list[str]:
        """Return more options of the server."""
        return []

    def _connect(self) -> pymysql.Connection:
        return pymysql.connect(
            host='127.0.0.1',
            port=self.port,
            user='root',
            autocommit=True,
            # It would read all authorities of the machine for nothing.
            ssl_disabled=True,
        )

    def _answers(self) -> bool:
        with contextlib.suppress(pymysql.OperationalError):
            self._connect().close()
            return True
        return False

    def _initialise(self) -> None:
        give(self._directory)
        process.output(
            [
                _binary('mysql_install_db'),
                '--no-defaults',
                *_as_user(),
                f'--datadir={self._data}',
                f'--tmpdir={self._directory}',
                '--skip-test-db',
            ]
        )


def give(path: pathlib.Path) -> None:
    """Make a file or directory that of the user who runs the server."""
    if os.geteuid() == 0:
        shutil.chown(path, _USER)


def _as_user() -> list[str]:
    return [f'--user={_USER}'] if os.geteuid() == 0 else []


def _binary(name: str) -> str:
    path = f'{os.environ["PATH"]}:/usr/sbin'
    return server.program(name, 'mariadb-server', path)
