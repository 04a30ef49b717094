"""A private PostgreSQL server.

PostgreSQL refuses to run as root, so root starts it as the user of the Debian
package, who needs access to its directory.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import shutil
import signal

import psycopg2

from lab import process, server

_USER = 'postgres'
_BINARIES = pathlib.Path('/usr/lib/postgresql')


class PostgreSQL(server.Database):
    """One server."""

    title = 'PostgreSQL'

    def _prepare(self) -> process.Process:
        if not self._data.exists():
            self._initialise()
        return process.Process(
            [
                str(_binary('postgres')),
                *('-D', str(self._data)),
                *('-p', str(self.port)),
                *('-k', str(self._directory)),
                *('-c', 'listen_addresses=127.0.0.1'),
                *('-c', 'max_connections=200'),
                # The data need not survive a power cut.
                *('-c', 'fsync=off'),
                *self._more,
            ],
            self._directory / 'postgresql.log',
            env=self._env,
            user=_USER,
            cwd=self._directory,
        )

    def stop(self) -> None:
        """Stop the server; clients are disconnected."""
        if self._process is not None:
            # SIGTERM would wait until the last client disconnects.
            self._process.signal(signal.SIGINT)
        super().stop()

    def kill(self) -> None:
        """End every process of the server with SIGKILL."""
        # Without its parent a child would still finish its statement.
        for pid in self._signal_all(signal.SIGSTOP):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().kill()

    def freeze(self) -> None:
        """Stop every process of the server; connections stay open."""
        # The parent first: afterwards it starts no further children.
        super().freeze()
        for pid in self._signal_all(signal.SIGSTOP):
            self._running().wait_until(
                functools.partial(process.is_stopped, pid), 'stop'
            )

    def thaw(self) -> None:
        """Continue after :meth:`freeze`."""
        self._signal_all(signal.SIGCONT)

    def create_database(self, name: str, template: str = 'template1') -> str:
        """Create a database.

        :param template: the database that it is a copy of.
        :returns: its SQLAlchemy URL.
        """
        with contextlib.closing(self.connect()) as connection:
            connection.autocommit = True
            connection.cursor().execute(
                f'CREATE DATABASE "{name}" TEMPLATE "{template}"'
            )
        return f'postgresql+psycopg2://{_USER}@127.0.0.1:{self.port}/{name}'

    def wait_for_statistics(self, name: str, table: str) -> None:
        """Wait until the server has analyzed a table by itself."""

        def is_analyzed() -> bool:
            with contextlib.closing(self.connect(name)) as connection:
                cursor = connection.cursor()
                cursor.execute(
                    'SELECT 1 FROM pg_stat_user_tables WHERE relname = %s '
                    'AND n_mod_since_analyze < n_live_tup / 2',
                    (table,),
                )
                return cursor.fetchone() is not None

        process.wait_for(is_analyzed, f'statistics of {table}')

    def dump(self, name: str) -> bytes:
        """Return a backup of a database, as pg_dump makes it."""
        return self._run('pg_dump', '--format=custom', name)

    def restore(self, name: str, backup: bytes) -> None:
        """Restore a backup over a database, as one transaction."""
        self._run(
            'pg_restore',
            *('--clean', '--if-exists', '--single-transaction'),
            *('-d', name),
            standard_input=backup,
        )

    def _run(
        self, program: str, *arguments: str, standard_input: bytes = b''
    ) -> bytes:
        return process.output(
            [
                _binary(program),
                *('-h', '127.0.0.1', '-p', str(self.port), '-U', _USER),
                *arguments,
            ],
            standard_input=standard_input,
        )

    def connect(self, name: str = _USER) -> psycopg2.extensions.connection:
        """Connect as the administrator, by default to his own database."""
        return psycopg2.connect(
            host='127.0.0.1', port=self.port, user=_USER, dbname=name
        )

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg2.OperationalError):
            self.connect().close()
            return True
        return False

    def _signal_all(self, number: int) -> list[int]:
        # Each connection has a process of its own, all in one session.
        parent = self._running().pid
        self._running().signal(number)
        children = pathlib.Path(
            f'/proc/{parent}/task/{parent}/children'
        ).read_text()
        pids = list(map(int, children.split()))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return [parent, *pids]

    def _initialise(self) -> None:
        run_as_server(
            self._directory,
            'initdb',
            *('-D', str(self._data)),
            *('-U', _USER),
            '--auth=trust',
            '--encoding=UTF8',
            '--locale=C',
            '--no-sync',
        )


def give(path: pathlib.Path) -> None:
    """Make a file that of the user who runs the server, and of no other."""
    path.chmod(0o600)
    if os.geteuid() == 0:
        shutil.chown(path, _USER)


def run_as_server(
    directory: pathlib.Path, program: str, *arguments: str
) -> None:
    """Run a program of PostgreSQL as the user of the server.

    :param directory: given to that user.
    :raises LabError: if it fails.
    """
    if os.geteuid() == 0:
        shutil.chown(directory, _USER)
    process.output(
        [_binary(program), *arguments],
        cwd=directory,
        user=_USER if os.geteuid() == 0 else None,
    )


def _binary(name: str) -> pathlib.Path:
    """Find a program of the newest PostgreSQL on this machine.

    :raises LabError: if there is none.
    """
    # Debian keeps them out of PATH, one directory for each release.
    releases = [p for p in _BINARIES.glob('*/bin') if (p / name).exists()]
    if releases:
        return max(releases, key=lambda p: float(p.parent.name)) / name
    found = shutil.which(name)
    if found is None:
        raise process.LabError(
            f'{name} is not installed: install the Debian package postgresql '
            '(see bindep.txt)'
        )
    return pathlib.Path(found)
