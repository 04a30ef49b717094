"""A private etcd: one server, or several that form a cluster."""

from __future__ import annotations

import base64
import contextlib
import os
import pathlib
import shutil
import urllib.request
from collections.abc import Sequence
from typing import Any

import requests

from lab import cluster, process, server

_FILLER = b'filler'


class Etcd(server.Server):
    """One server with a data directory of its own.

    :param options: more options of the command line.
    :param scheme: ``https`` for a server whose ``options`` configure it.
    :ivar keeps_data: flush them to the disk, which costs time.
    :ivar outer_port: where other servers reach it.
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
        self.peer_port = self.outer_port = process.free_port()
        self.metrics_port = process.free_port()
        self.options = options
        self.scheme = scheme
        self.keeps_data = False
        self._data = directory / 'data'

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        return f'etcd3+{self.scheme}://127.0.0.1:{self.port}'

    def _prepare(self) -> process.Process:
        client = f'{self.scheme}://127.0.0.1:{self.port}'
        peer = f'http://127.0.0.1:{self.peer_port}'
        outer = f'http://127.0.0.1:{self.outer_port}'
        return process.Process(
            [
                server.program('etcd', 'etcd-server'),
                f'--name={self.name}',
                f'--data-dir={self._data}',
                f'--listen-client-urls={client}',
                f'--advertise-client-urls={client}',
                f'--listen-peer-urls={peer}',
                f'--initial-advertise-peer-urls={outer}',
                f'--initial-cluster={self.name}={outer}',
                # Health and metrics without the client's certificate.
                f'--listen-metrics-urls=http://127.0.0.1:{self.metrics_port}',
                # The data need not survive a power cut.
                *(() if self.keeps_data else ('--unsafe-no-fsync',)),
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

    def fill(self) -> None:
        """Put values until it takes no more: its quota is used up."""
        value = base64.b64encode(b'x' * (1 << 20)).decode()
        while True:
            key = base64.b64encode(_FILLER + os.urandom(8)).decode()
            answer = self._post('kv/put', {'key': key, 'value': value})
            if 'database space exceeded' in answer.text:
                return
            answer.raise_for_status()

    def free(self) -> None:
        """Delete what :meth:`fill` has put; the space stays in use."""
        first, last = _FILLER, _FILLER[:-1] + bytes([_FILLER[-1] + 1])
        span = {
            name: base64.b64encode(key).decode()
            for name, key in (('key', first), ('range_end', last))
        }
        self._post('kv/deleterange', span).raise_for_status()

    def compact(self) -> None:
        """Compact all revisions, and defragment this server."""
        newest = self._post('kv/range', {'key': 'AA=='}).json()
        revision = newest['header']['revision']
        # Another server may have done it.
        self._post('kv/compaction', {'revision': revision, 'physical': True})
        self._post('maintenance/defragment', {}).raise_for_status()

    def disarm(self) -> None:
        """End all alarms, so that it takes writes again."""
        found = self._post('maintenance/alarm', {'action': 'GET'}).json()
        for alarm in found.get('alarms', ()):
            self._post(
                'maintenance/alarm', {**alarm, 'action': 'DEACTIVATE'}
            ).raise_for_status()

    def _post(self, path: str, body: dict[str, Any]) -> requests.Response:
        return requests.post(
            f'http://127.0.0.1:{self.port}/v3/{path}', json=body, timeout=180
        )

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


class Cluster(cluster.Cluster[Etcd]):
    """Three servers that know each other.

    :param directory: an existing directory for all that they write.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__()
        for home in cluster.homes(directory, 'etcd'):
            member = Etcd(home)
            self._add(member)
            member.outer_port = self.network.connect(
                member.name, member.peer_port
            )
        members = ','.join(
            f'{s.name}=http://127.0.0.1:{s.outer_port}' for s in self.servers
        )
        for member in self.servers:
            member.options = (f'--initial-cluster={members}',)

    @property
    def url(self) -> str:
        """The URL with all the servers, as the product reads it."""
        addresses = ','.join(f'127.0.0.1:{port}' for port in self.ports)
        return f'etcd3+http://{addresses}'

    def _leads(self, member: Etcd) -> bool:
        with contextlib.suppress(OSError, process.LabError):
            return '\netcd_server_is_leader 1' in member.metrics()
        return False
