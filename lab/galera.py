"""A private MariaDB Galera cluster of three nodes, on loopback.

Every node accepts writes. Each has a binary log, which holds the committed
transactions of all nodes in the one order that the cluster agreed on.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import pymysql

from lab import mariadb, process, server

_PROVIDER = pathlib.Path('/usr/lib/galera/libgalera_smm.so')
_SYNCED = '4'
_UNKNOWN = '00000000-0000-0000-0000-000000000000:-1'


class Node(mariadb.MariaDB):
    """One node of a cluster.

    :param number: its server id, which the binary log shows.
    :ivar group_port: where the other nodes reach it.
    """

    title = 'Galera node'

    def __init__(
        self,
        directory: pathlib.Path,
        number: int,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(directory, env)
        self.number = number
        self.group_port = process.free_port()
        self._transfer_port = process.free_port()
        self._snapshot_port = process.free_port()
        self.peers: Sequence[Node] = ()
        self.founds = False

    @property
    def address(self) -> str:
        """Address for the other nodes."""
        return f'127.0.0.1:{self.group_port}'

    def end(self) -> None:
        """End the node with SIGKILL, if it runs."""
        if self._process is not None:
            self.kill()

    def status(self, name: str) -> str:
        """Return one of the ``wsrep`` status variables."""
        rows = self.query(f"SHOW GLOBAL STATUS LIKE 'wsrep\\_{name}'")
        return str(rows[0][1]) if rows else ''

    def isolate(self) -> None:
        """Cut the node from the others; clients still reach it."""
        self._set_isolation(1)
        self._running().wait_until(
            lambda: self.status('cluster_status') != 'Primary',
            'loss of the primary component',
        )

    def rejoin(self) -> None:
        """Undo :meth:`isolate`, and wait until the node is in the cluster."""
        self._set_isolation(0)
        self.wait()

    def wait_for_size(self, size: int) -> None:
        """Wait until the node sees a cluster of this many nodes."""
        self._running().wait_until(
            lambda: self.status('cluster_size') == str(size),
            f'cluster of {size}',
        )

    def found(self) -> None:
        """Start the node as a new cluster of one."""
        self.founds = True
        try:
            self.start()
        finally:
            # After a crash it joins the others instead.
            self.founds = False

    def copy(self, other: Node) -> None:
        """Copy the data of a node that is stopped, as its state transfer."""
        mariadb.give(self._directory)
        process.output(['cp', '-a', other._data, self._data])

    def applied(self) -> None:
        """Wait until everything that other nodes committed is visible."""
        with contextlib.closing(self._connect()) as connection:
            cursor = connection.cursor()
            cursor.execute('SET SESSION wsrep_sync_wait = 15')
            cursor.execute('SELECT 1')

    def binary_log(self) -> str:
        """Return the committed rows in their order, as mysqlbinlog shows."""
        self.applied()
        self.query('FLUSH LOCAL BINARY LOGS')
        files = sorted(self._directory.glob('data/binlog.[0-9]*'))
        return process.output(
            [
                server.program('mysqlbinlog', 'mariadb-server'),
                '-v',
                '--base64-output=DECODE-ROWS',
                *files,
            ],
        ).decode()

    def _set_isolation(self, value: int) -> None:
        self.query(
            f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={value}'"
        )

    def _options(self) -> list[str]:
        return [
            *self._replication(),
            f'--wsrep-start-position={self._position()}',
            *(['--wsrep-new-cluster'] if self.founds else []),
        ]

    def _replication(self) -> list[str]:
        provider = ';'.join(
            [
                f'gmcast.listen_addr=tcp://{self.address}',
                f'ist.recv_addr=127.0.0.1:{self._transfer_port}',
                'gcache.size=32M',
                # A node that is gone is noticed within seconds.
                'evs.keepalive_period=PT0.5S',
                'evs.inactive_check_period=PT0.5S',
                'evs.suspect_timeout=PT3S',
                'evs.inactive_timeout=PT6S',
                'evs.install_timeout=PT6S',
            ]
        )
        peers = ','.join(node.address for node in self.peers)
        return [
            '--wsrep-on=ON',
            f'--wsrep-provider={_PROVIDER}',
            f'--wsrep-provider-options={provider}',
            f'--wsrep-cluster-address=gcomm://{peers}',
            '--wsrep-cluster-name=lab',
            f'--wsrep-node-name=node{self.number}',
            f'--wsrep-node-address=127.0.0.1:{self.group_port}',
            f'--wsrep-node-incoming-address=127.0.0.1:{self.port}',
            '--wsrep-sst-method=rsync',
            f'--wsrep-sst-receive-address=127.0.0.1:{self._snapshot_port}',
            '--wsrep-slave-threads=2',
            '--binlog-format=ROW',
            '--default-storage-engine=InnoDB',
            '--innodb-autoinc-lock-mode=2',
            '--innodb-log-file-size=16M',
            '--innodb-buffer-pool-size=64M',
            '--max-connections=300',
            f'--log-bin={self._data / "binlog"}',
            '--log-slave-updates',
            f'--server-id={self.number}',
        ]

    def _position(self) -> str:
        """Return the last transaction that the node has applied.

        The node writes it into a file when it stops. After a crash a run of
        the server of its own finds it, as mysqld_safe and systemd do it.
        """
        file = self._data / 'grastate.dat'
        if not file.exists():
            return _UNKNOWN
        state = file.read_text()
        saved = dict(re.findall(r'^(\w+): +(\S+)$', state, re.MULTILINE))
        if saved['seqno'] != '-1':
            return f'{saved["uuid"]}:{saved["seqno"]}'
        ended = subprocess.run(
            self._command(*self._replication(), '--wsrep-recover'),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        found = re.search(r'Recovered position: *(\S+)', ended.stdout)
        if found is None:
            raise process.LabError(f'--wsrep-recover: {ended.stdout}')
        return found[1]

    def _answers(self) -> bool:
        with contextlib.suppress(pymysql.Error):
            return self.status('local_state') == _SYNCED
        return False


class Galera:
    """A cluster of nodes, each with a directory of its own.

    :param directory: an existing directory for all that the nodes write.
    :param env: variables to add to each node's environment, by its number.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        size: int = 3,
        env: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        mariadb.give(directory)
        self.nodes: list[Node] = []
        for number in range(1, size + 1):
            own = directory / f'node{number}'
            own.mkdir(exist_ok=True)  # or a disk of its own
            self.nodes.append(Node(own, number, (env or {}).get(number)))
        for node in self.nodes:
            node.peers = self.nodes

    def start(self) -> Self:
        """Start the first node as a new cluster, then the others."""
        first, *others = self.nodes
        # Copying its files takes a second, and a state transfer six.
        first.found()
        first.stop()
        for node in others:
            node.copy(first)
        first.found()
        for node in others:
            node.begin()
        for node in others:
            node.wait()
        return self

    def stop(self) -> None:
        """End every node; a clean stop of a whole cluster takes long."""
        for node in self.nodes:
            node.end()

    @contextlib.contextmanager
    def killed(self, node: Node) -> Iterator[None]:
        """End a node with SIGKILL, and start it again in the end."""
        node.kill()
        try:
            yield
        finally:
            node.begin()
            self.wait_until_whole()

    @contextlib.contextmanager
    def frozen(self, node: Node) -> Iterator[None]:
        """Stop a node's process for longer than the others wait for it."""
        node.freeze()
        try:
            yield
            self._wait_for_loss(node)
        finally:
            node.thaw()
            self.wait_until_whole()

    @contextlib.contextmanager
    def isolated(self, node: Node) -> Iterator[None]:
        """Cut a node from the others; clients reach all of them."""
        node.isolate()
        try:
            yield
            self._wait_for_loss(node)
        finally:
            node.rejoin()
            self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Wait until all nodes are in the cluster, and synced."""
        for node in self.nodes:
            node.wait()
            node.wait_for_size(len(self.nodes))
        for node in self.nodes:
            node.wait()

    def _wait_for_loss(self, node: Node) -> None:
        # Until then the others count it, and it counts itself.
        for other in self.nodes:
            if other is not node:
                other.wait_for_size(len(self.nodes) - 1)

    def create_database(self, name: str) -> list[str]:
        """Create a database.

        :returns: its SQLAlchemy URL at each node.
        """
        self.nodes[0].create_database(name)
        for node in self.nodes:
            node.applied()
        return [node.url(name) for node in self.nodes]
