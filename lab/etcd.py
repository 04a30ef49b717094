"""A private etcd: one server, or several that form a cluster."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import urllib.request
from collections.abc import Sequence

from lab import process, server


class Etcd(server.Server):
    """One server with a data directory of its own.

    :param options: more options of the command line.
    :param scheme: ``https`` for a server whose ``options`` configure it.
    """

    title = 'etcd'

    def __init__(
        self,
        directory: pathlib.Path,
        options: Sequence[str] = (),
        *,
        scheme: str = 'http',
    ) -> None:
        super().__init__(directory)
        self.peer_port = process.free_port()
        self.metrics_port = process.free_port()
        self.name = directory.name
        self.options = options
        self.scheme = scheme
        self._data = directory / 'data'

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        return f'etcd3+{self.scheme}://127.0.0.1:{self.port}'

    def _prepare(self) -> process.Process:
        client = f'{self.scheme}://127.0.0.1:{self.port}'
        peer = f'http://127.0.0.1:{self.peer_port}'
        return process.Process(
            [
                server.program('etcd', 'etcd-server'),
                f'--name={self.name}',
                f'--data-dir={self._data}',
                f'--listen-client-urls={client}',
                f'--advertise-client-urls={client}',
                f'--listen-peer-urls={peer}',
                f'--initial-advertise-peer-urls={peer}',
                f'--initial-cluster={self.name}={peer}',
                # Health and metrics without the client's certificate.
                f'--listen-metrics-urls=http://127.0.0.1:{self.metrics_port}',
                # The data need not survive a power cut.
                '--unsafe-no-fsync',
                '--log-level=error',
                *self.options,
            ],
            self._directory / 'etcd.log',
        )

    def lose_data(self) -> None:
        """Kill the server and start it again, empty, on the same port."""
        self.kill()
        shutil.rmtree(self._data)
        self.start()

    def metrics(self) -> str:
        """Return the metrics in Prometheus' format."""
        return self._get('metrics')

    def _get(self, path: str) -> str:
        url = f'http://127.0.0.1:{self.metrics_port}/{path}'
        with urllib.request.urlopen(url, timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            return 'true' in self._get('health')
        return False


class Cluster:
    """Several servers that know each other.

    :param directory: an existing directory for all that they write.
    """

    def __init__(self, directory: pathlib.Path, size: int = 3) -> None:
        self.servers: list[Etcd] = []
        for number in range(size):
            home = directory / f'etcd{number}'
            home.mkdir()
            self.servers.append(Etcd(home))
        members = ','.join(
            f'{s.name}=http://127.0.0.1:{s.peer_port}' for s in self.servers
        )
        for member in self.servers:
            member.options = (f'--initial-cluster={members}',)

    @property
    def url(self) -> str:
        """The URL with all the servers."""
        addresses = ','.join(f'127.0.0.1:{s.port}' for s in self.servers)
        return f'etcd3+http://{addresses}'

    def start(self) -> Cluster:
        """Start all the servers."""
        for member in self.servers:
            member.begin()
        for member in self.servers:
            member.wait()
        return self

    def stop(self) -> None:
        """Stop all the servers."""
        for member in self.servers:
            member.stop()

    def leader(self) -> Etcd:
        """Return the server that leads now."""
        for member in self.servers:
            if '\netcd_server_is_leader 1' in member.metrics():
                return member
        raise process.LabError('no server leads')
