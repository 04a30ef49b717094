"""Streaming replication of PostgreSQL: a primary, a standby, promotion."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Mapping

from lab import postgresql, process, proxy

_NAME = 'standby1'
"""The name by which the primary knows its standby."""


class Standby(postgresql.PostgreSQL):
    """A server that replays what another one writes.

    :param upstream: port of that server, or of a proxy in front of it.
    :param env: variables to add to its environment.
    """

    title = 'PostgreSQL standby'

    def __init__(
        self,
        directory: pathlib.Path,
        upstream: int,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(directory, env)
        self._upstream = upstream

    def promote(self) -> None:
        """Make it a primary, and wait until it accepts writes."""
        with contextlib.closing(self.connect()) as connection:
            connection.autocommit = True
            cursor = connection.cursor()
            cursor.execute('SELECT pg_promote(true, 120)')
            found = cursor.fetchone()
            if found != (True,):
                raise process.LabError('the standby was not promoted')

    def _initialise(self) -> None:
        postgresql.run_as_server(
            self._directory,
            'pg_basebackup',
            *('-h', '127.0.0.1'),
            *('-p', str(self._upstream)),
            *('-U', 'postgres'),
            *('-D', str(self._data)),
            '--write-recovery-conf',
            '--wal-method=stream',
            '--checkpoint=fast',
            '--no-sync',
        )
        with (self._data / 'postgresql.auto.conf').open('a') as file:
            file.write(
                "primary_conninfo = 'host=127.0.0.1 user=postgres "
                f"port={self._upstream} application_name={_NAME}'\n"
                # Promoted, it has no standby to wait for.
                "synchronous_standby_names = ''\n"
                "wal_retrieve_retry_interval = '200ms'\n"
            )


class Replication:
    """A primary and its standby; promotion makes them change places.

    :param directory: an existing directory for both.
    :ivar link: the network between them.
    :ivar standby_env: variables to add to the environment of the next
        standby.
    """

    standby_env: Mapping[str, str] | None = None

    def __init__(self, directory: pathlib.Path) -> None:
        # The servers run as another user.
        directory.chmod(0o755)
        self._directory = directory
        self._number = 0
        self.primary = postgresql.PostgreSQL(self._new_directory())
        self.link: proxy.Proxy | None = None
        self.standby: Standby | None = None

    def start(self) -> Replication:
        """Start both servers, and wait until the standby streams."""
        self.primary.start()
        self.add_standby()
        return self

    def stop(self) -> None:
        """Stop what runs."""
        for server in (self.standby, self.primary):
            if server is not None:
                server.stop()
        if self.link is not None:
            self.link.close()

    def add_standby(self) -> None:
        """Copy the primary to a new standby, and wait until it streams."""
        self.link = proxy.Proxy(self.primary.port)
        self.standby = Standby(
            self._new_directory(), self.link.port, self.standby_env
        )
        self.standby.start()
        self.wait_until_streaming()

    def set_synchronous(self, *, synchronous: bool) -> None:
        """Let a commit wait for the standby, or not."""
        self._set('synchronous_standby_names', _NAME if synchronous else '')

    def set_read_only(self, *, read_only: bool) -> None:
        """Let the primary refuse writes, as a standby does."""
        self._set(
            'default_transaction_read_only', 'on' if read_only else 'off'
        )

    def wait_until_streaming(self) -> None:
        """Wait until the standby has all that is committed."""
        process.wait_for(
            lambda: self._value(
                'SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) '
                f"FROM pg_stat_replication WHERE application_name = '{_NAME}' "
                "AND state = 'streaming'"
            ),
            'streaming standby',
        )

    def cut(self) -> None:
        """End the replication; later commits do not reach the standby."""
        assert self.link is not None
        self.link.cut()

    def fail_over(self) -> None:
        """Kill the primary and promote the standby."""
        self.primary.kill()
        self.promote()

    def promote(self) -> None:
        """Promote the standby; it is the primary now, without a standby."""
        assert self.standby is not None
        assert self.link is not None
        self.link.close()
        self.standby.promote()
        self.primary, self.standby = self.standby, None

    def _new_directory(self) -> pathlib.Path:
        self._number += 1
        path = self._directory / f'server{self._number}'
        path.mkdir(exist_ok=True)  # or a disk of its own
        return path

    def _set(self, option: str, value: str) -> None:
        self._execute(f"ALTER SYSTEM SET {option} = '{value}'")
        self._execute('SELECT pg_reload_conf()')
        process.wait_for(
            lambda: self._value(f'SHOW {option}') == value,
            'new setting of the primary',
        )

    def _execute(self, statement: str) -> None:
        with contextlib.closing(self.primary.connect()) as connection:
            connection.autocommit = True
            connection.cursor().execute(statement)

    def _value(self, query: str) -> object:
        with contextlib.closing(self.primary.connect()) as connection:
            cursor = connection.cursor()
            cursor.execute(query)
            row = cursor.fetchone()
        return row[0] if row else None


def url(name: str, *ports: int) -> str:
    """Return the URL of a database on the one server that accepts writes."""
    hosts = ''.join(f'host=127.0.0.1:{port}&' for port in ports)
    return (
        f'postgresql+psycopg2://postgres@/{name}?{hosts}'
        'target_session_attrs=read-write'
    )
