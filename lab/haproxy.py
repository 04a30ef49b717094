"""HAProxy in front of a Galera cluster, with the configuration of operators.

Only the addresses of the sample are replaced by those of the lab.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Sequence

import pymysql

from lab import galera, process, server

SAMPLE = (
    pathlib.Path(__file__).parents[1]
    / 'etc/ironic_ownership/haproxy-galera.cfg'
)
"""What operators append to their configuration."""

_ADDRESS = '192.0.2.10:3306'


class HAProxy(server.Server):
    """A proxy that sends all connections to one node of a cluster.

    :param nodes: the writer first, then its backups.
    """

    title = 'HAProxy'

    def __init__(
        self, directory: pathlib.Path, nodes: Sequence[galera.Node]
    ) -> None:
        super().__init__(directory)
        self._nodes = nodes

    def url(self, name: str) -> str:
        """Return the SQLAlchemy URL of a database."""
        return f'mysql+pymysql://root@127.0.0.1:{self.port}/{name}'

    def writer(self) -> galera.Node:
        """Return the node that gets the connections now.

        :raises LabError: if none does.
        """
        try:
            with contextlib.closing(self._connect()) as connection:
                cursor = connection.cursor()
                cursor.execute('SELECT @@server_id')
                (number,) = cursor.fetchone() or (None,)
        except pymysql.Error as exc:
            raise process.LabError(f'no writer: {exc}') from exc
        return next(node for node in self._nodes if node.number == number)

    def _prepare(self) -> process.Process:
        path = self._directory / 'haproxy.cfg'
        path.write_text(self._configuration())
        programs = f'{os.environ["PATH"]}:/usr/sbin'
        return process.Process(
            [
                server.program('haproxy', 'haproxy', programs),
                *('-db', '-f', str(path)),
            ],
            self._directory / 'haproxy.log',
        )

    def _configuration(self) -> str:
        text = SAMPLE.read_text()
        own = {
            _ADDRESS: self.port,
            **{
                f'db{number}.example.com:3306': node.port
                for number, node in enumerate(self._nodes, 1)
            },
        }
        for address, port in own.items():
            if address not in text:
                raise process.LabError(f'{SAMPLE} has no {address}')
            text = text.replace(address, f'127.0.0.1:{port}')
        return text

    def _answers(self) -> bool:
        with contextlib.suppress(process.LabError):
            self.writer()
            return True
        return False

    def _connect(self) -> pymysql.Connection:
        return pymysql.connect(
            host='127.0.0.1',
            ssl_disabled=True,
            port=self.port,
            user='root',
            connect_timeout=2,
            read_timeout=2,
        )
