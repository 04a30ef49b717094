"""A private MariaDB server, without passwords, on the loopback interface."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

import pymysql

from lab import process

_USER = 'mysql'


class MariaDB:
    """One server with a data directory of its own.

    :param directory: an existing directory for all that the server writes.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self.port = process.free_port()
        self._directory = directory
        self._data = directory / 'data'
        self._process: process.Process | None = None

    def start(self) -> MariaDB:
        """Create the data directory, if need be, and start the server."""
        if not self._data.exists():
            self._initialise()
        self._process = process.Process(
            [
                _binary('mariadbd'),
                '--no-defaults',
                *_as_user(),
                f'--datadir={self._data}',
                f'--socket={self._directory / "mariadb.sock"}',
                f'--pid-file={self._directory / "mariadb.pid"}',
                f'--port={self.port}',
                '--bind-address=127.0.0.1',
                '--skip-grant-tables',
                '--skip-networking=0',
                '--skip-name-resolve',
                '--character-set-server=utf8mb4',
                # Nothing here has to survive a power cut.
                '--innodb-flush-log-at-trx-commit=0',
            ],
            self._directory / 'mariadb.log',
        ).start()
        self._process.wait_until(self._answers, 'answer of MariaDB')
        return self

    def stop(self) -> None:
        """Stop the server; clients are disconnected."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def restart(self) -> None:
        """Stop the server and start it again on the same port."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Let the server answer nothing, its connections staying open."""
        self._running().signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """End what :meth:`freeze` began."""
        self._running().signal(signal.SIGCONT)

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

    def _running(self) -> process.Process:
        if self._process is None:
            raise process.LabError('MariaDB does not run')
        return self._process

    def _initialise(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._directory, _USER)
        initialised = subprocess.run(
            [
                _binary('mysql_install_db'),
                '--no-defaults',
                *_as_user(),
                f'--datadir={self._data}',
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
    """Find a program of MariaDB.

    :raises LabError: if it is not installed.
    """
    found = shutil.which(name, path=f'{os.environ["PATH"]}:/usr/sbin')
    if found is None:
        raise process.LabError(
            f'{name} is not installed: install the Debian package '
            'mariadb-server (see bindep.txt)'
        )
    return found
