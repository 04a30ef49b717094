"""A private PostgreSQL from Debian's package, and what tests do to it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import psycopg2

_PORTS = range(10_000, 20_000)
_USER = 'postgres'
_LONGEST = 120.0


class PostgreSQL:
    """One server on a free port of 127.0.0.1.

    PostgreSQL refuses to run as root: root starts it as the user of the
    Debian package.
    """

    def __init__(self) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='postgresql-'))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """Connection string of clients."""
        return f'host=127.0.0.1 port={self.port} user={_USER} dbname={_USER}'

    def start(self) -> None:
        """Make its files, start it, and wait until it answers."""
        if os.geteuid() == 0:
            shutil.chown(self.directory, _USER)
        data = str(self.directory / 'data')
        self._spawn(
            *('initdb', '-D', data, '-U', _USER, '--auth=trust'),
            *('--encoding=UTF8', '--locale=C', '--no-sync'),
        ).wait()
        self._process = self._spawn(
            *('postgres', '-D', data, '-p', str(self.port)),
            *('-k', str(self.directory), '-c', 'listen_addresses=127.0.0.1'),
            *('-c', 'fsync=off'),
        )
        deadline = time.monotonic() + _LONGEST
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.directory / 'log').read_text())
            time.sleep(0.05)

    def remove(self) -> None:
        """End it and remove its files."""
        if self._process is not None:
            self.thaw()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def freeze(self) -> None:
        """Let it answer nothing, its connections staying open."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """End what :meth:`freeze` began."""
        self._signal_all(signal.SIGCONT)

    def execute(self, statement: str, *values: object) -> None:
        """Execute a statement as the administrator."""
        with contextlib.closing(psycopg2.connect(self.dsn)) as connection:
            connection.autocommit = True
            connection.cursor().execute(statement, values)

    def _spawn(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        found = shutil.which(program) or next(
            iter(
                sorted(
                    map(
                        str,
                        pathlib.Path('/usr/lib/postgresql').glob(
                            f'*/bin/{program}'
                        ),
                    ),
                    reverse=True,
                )
            ),
            None,
        )
        if found is None:
            raise AssertionError(
                'these tests need a PostgreSQL: install the Debian package '
                'postgresql'
            )
        with (self.directory / 'log').open('ab') as log:
            return subprocess.Popen(
                [found, *arguments],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=_USER if os.geteuid() == 0 else None,
            )

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg2.OperationalError):
            psycopg2.connect(self.dsn, connect_timeout=5).close()
            return True
        return False

    def _signal_all(self, number: int) -> None:
        # The parent first: then it starts no further children. Each
        # connection has a process of its own.
        assert self._process is not None
        parent = self._process.pid
        os.kill(parent, number)
        if number == signal.SIGSTOP:
            os.waitid(os.P_PID, parent, os.WSTOPPED | os.WNOWAIT)
        children = pathlib.Path(f'/proc/{parent}/task/{parent}/children')
        for pid in map(int, children.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                while number == signal.SIGSTOP and not _is_stopped(pid):
                    time.sleep(0.005)


def _is_stopped(pid: int) -> bool:
    state = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2]
    return state.split()[0] in 'TZX'


def _free_port() -> int:
    # Below the ports of outgoing connections: one of these could take it
    # before the server starts, or while it is down.
    for port in random.sample(_PORTS, len(_PORTS)):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(('127.0.0.1', port))
            return port
    raise AssertionError('no port is free')
