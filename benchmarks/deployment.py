"""Servers, files and services of the benchmarks."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import tempfile
from collections.abc import Iterator

from oslo_config import cfg

from benchmarks import processor_time
from ironic_ownership.clients import options
from ironic_ownership.clients.ironic import client
from ironic_ownership.db import connection, records, schema
from lab import postgresql, process


@contextlib.contextmanager
def directory() -> Iterator[pathlib.Path]:
    """Yield a directory; the users of servers may read files in there."""
    with tempfile.TemporaryDirectory(prefix='benchmark-') as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        yield path


def subdirectory(of: pathlib.Path, name: str) -> pathlib.Path:
    """Make another one in a directory."""
    path = of / name
    path.mkdir()
    path.chmod(0o755)
    return path


@contextlib.contextmanager
def postgresql_in(of: pathlib.Path) -> Iterator[postgresql.PostgreSQL]:
    """Yield a server, with its files in a directory."""
    server = postgresql.PostgreSQL(subdirectory(of, 'postgresql'))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def upgrade(url: str) -> None:
    """Make the schema in a new database."""
    with contextlib.closing(connection.open_database(url)) as database:
        schema.upgrade(database)


def configuration(
    host: str, policies: str, database: str, endpoint: str, *more: str
) -> str:
    """Return the configuration of a service.

    :param more: lines that follow, from the group ``ironic`` on.
    """
    lines = (
        *('[DEFAULT]', f'host = {host}'),
        *('[ownership]', f'policies = {policies}'),
        *('[database]', f'connection = {database}'),
        *('[ironic]', 'auth_type = none', f'endpoint_override = {endpoint}'),
        *(*more, ''),
    )
    return '\n'.join(lines)


def open_ironic(endpoint: str) -> client.IronicClient:
    """Open a client of Ironic, as a service does."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    options.register_opts(conf, options.IRONIC)
    conf.set_override('auth_type', 'none', 'ironic')
    conf.set_override('endpoint_override', endpoint, 'ironic')
    return options.open_ironic(conf)


def program(name: str) -> tuple[str, ...]:
    """Return the command of one of our programs."""
    text = f'import sys; from ironic_ownership.cmd.{name} import main; '
    return sys.executable, '-c', f'{text}sys.exit(main())'


class Services:
    """Host processes that share one database.

    :param files: an existing directory for them.
    :param database: URL.
    :param more: lines of the configuration of each, from the group
        ``ironic`` on.
    """

    def __init__(
        self, files: pathlib.Path, database: str, endpoint: str, *more: str
    ) -> None:
        self._files, self._url, self._endpoint = files, database, endpoint
        self._more = more
        self._processes: dict[str, process.Process] = {}
        self._ended = 0.0
        self.database = connection.open_database(database)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(self.database)

    def configure(self, host: str, policies: str, *more: str) -> pathlib.Path:
        """Write the configuration of a service.

        :param more: lines of it alone, in the group ``ironic``.
        """
        path = self._files / f'{host}.conf'
        log = '[DEFAULT]', f'log_file = {path.with_suffix(".log")}'
        lines = *more, *self._more, *log
        path.write_text(
            configuration(host, policies, self._url, self._endpoint, *lines)
        )
        return path

    def start(self, host: str, policies: str, *more: str) -> None:
        """Configure a service, and start it."""
        path = self.configure(host, policies, *more)
        self._processes[host] = process.Process(
            [*program('host'), '--config-file', str(path)],
            path.with_suffix('.out'),
        ).start()

    def kill(self, host: str) -> None:
        """End a service with SIGKILL."""
        self._taken(host).kill()

    def stop(self, host: str) -> None:
        """End a service with SIGTERM."""
        self._taken(host).stop()

    def _taken(self, host: str) -> process.Process:
        one = self._processes.pop(host)
        self._ended += processor_time.of_tree(one.pid)
        return one

    def cpu(self) -> float:
        """Return the seconds of processor time of all services so far."""
        running = self._processes.values()
        return self._ended + sum(
            processor_time.of_tree(one.pid) for one in running
        )

    def close(self) -> None:
        """End all services."""
        for host in list(self._processes):
            self.kill(host)
        self.database.close()
