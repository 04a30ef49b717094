"""A private ZooKeeper: one server, or an ensemble.

Debian's package brings the libraries; the service is another package, which
is not needed here.
"""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket
from collections.abc import Sequence

from lab import certificates, cluster, process, server

_JAVA = pathlib.Path('/usr/share/java')
_LIBRARIES = _JAVA / 'zookeeper.jar'
# That one names its own libraries, without two that TLS needs.
_TLS_LIBRARIES = (_JAVA / 'netty-codec.jar', _JAVA / 'netty-resolver.jar')

_NETTY = 'org.apache.zookeeper.server.NettyServerCnxnFactory'

TICK = 0.2
"""Seconds. Sessions last from two to twenty thousand ticks here, and expire at
most one tick late."""


_LEADER_OPENS = 5.0
"""Seconds. A new leader listens a moment after its election. A follower whose
connection is refused connects again; one whose connection ends elects again,
while the leader waits for it as long as ``initLimit``."""


class ZooKeeper(server.Server):
    """One server with a data directory of its own.

    :param shortest: seconds of the shortest session that it grants.
    :param longest: seconds of the longest one.
    :param tls: its certificate; no client connects without TLS then.
    :param asks_clients: with TLS, whether clients need a certificate of the
        same authority.
    :ivar settings: more lines of its configuration file.
    :ivar keeps_data: flush them to the disk, which costs time.
    """

    title = 'ZooKeeper'

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        shortest: float = 2 * TICK,
        longest: float = 3600,
        tls: certificates.Certificates | None = None,
        asks_clients: bool = False,
    ) -> None:
        super().__init__(directory)
        self._shortest = shortest
        self._longest = longest
        self._tls = tls
        self._asks_clients = asks_clients
        self.settings: Sequence[str] = ()
        self.keeps_data = False
        self._data = directory / 'data'

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        return f'zookeeper://127.0.0.1:{self.port}'

    def _prepare(self) -> process.Process:
        self._data.mkdir(exist_ok=True)
        config = self._directory / 'zoo.cfg'
        config.write_text(
            f'dataDir={self._data}\n'
            f'tickTime={round(TICK * 1000)}\n'
            f'minSessionTimeout={round(self._shortest * 1000)}\n'
            f'maxSessionTimeout={round(self._longest * 1000)}\n'
            'maxClientCnxns=0\n'
            'admin.enableServer=false\n'
            '4lw.commands.whitelist=*\n'
            + ''.join(
                f'{line}\n' for line in (*self._listening(), *self.settings)
            )
        )
        return process.Process(
            [
                _java(),
                *('-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'),
                # The data need not survive a power cut.
                f'-Dzookeeper.forceSync={"yes" if self.keeps_data else "no"}',
                *('-cp', ':'.join(map(str, (_LIBRARIES, *_TLS_LIBRARIES)))),
                # It is a single server where no others are configured.
                'org.apache.zookeeper.server.quorum.QuorumPeerMain',
                str(config),
            ],
            self._directory / 'zookeeper.log',
            cwd=self._directory,
        )

    def _listening(self) -> Sequence[str]:
        if self._tls is None:
            return (
                f'clientPort={self.port}',
                'clientPortAddress=127.0.0.1',
            )
        return (
            f'secureClientPort={self.port}',
            'secureClientPortAddress=127.0.0.1',
            # The default server can't do TLS.
            f'serverCnxnFactory={_NETTY}',
            f'ssl.keyStore.location={self._tls.both}',
            'ssl.keyStore.type=PEM',
            f'ssl.trustStore.location={self._tls.authority}',
            'ssl.trustStore.type=PEM',
            f'ssl.clientAuth={"need" if self._asks_clients else "none"}',
        )

    def lose_data(self) -> None:
        """Stop the server and start it again, empty, on the same port."""
        self.stop()
        shutil.rmtree(self._data)
        self.start()

    def ask(self, word: str, timeout: float = 5) -> str:
        """Return the answer to one of the four-letter words."""
        with (
            socket.create_connection(('127.0.0.1', self.port), timeout) as raw,
            self._wrapped(raw) as asked,
        ):
            asked.sendall(word.encode('ascii'))
            answer = b''
            while part := asked.recv(65536):
                answer += part
        return answer.decode()

    def _wrapped(self, plain: socket.socket) -> socket.socket:
        return plain if self._tls is None else self._tls.wrap(plain)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            # A server that answers "ruok" need not serve yet: early clients
            # may wait until they time out.
            return 'Mode: ' in self.ask('srvr')
        return False


class Cluster(cluster.Cluster[ZooKeeper]):
    """Three servers that know each other.

    :param directory: an existing directory for all that they write.
    :param sync_limit: seconds after which a server that does not reach the
        leader, or a leader that does not reach a majority, serves no client.
    """

    def __init__(self, directory: pathlib.Path, sync_limit: float = 3) -> None:
        super().__init__()
        inner, outer = [], []
        for home in cluster.homes(directory, 'zookeeper'):
            member = ZooKeeper(home)
            self._add(member)
            quorum, election = process.free_port(), process.free_port()
            inner.append((quorum, election))
            outer.append(
                (
                    self.network.connect(member.name, quorum, _LEADER_OPENS),
                    self.network.connect(member.name, election),
                )
            )
        for number, member in enumerate(self.servers):
            data = directory / member.name / 'data'
            data.mkdir()
            (data / 'myid').write_text(str(number + 1))
            peers = [*outer]
            peers[number] = inner[number]
            member.settings = [
                f'initLimit={round(20 / TICK)}',
                f'syncLimit={round(sync_limit / TICK)}',
                *(
                    f'server.{index + 1}=127.0.0.1:{quorum}:{election}'
                    for index, (quorum, election) in enumerate(peers)
                ),
            ]

    @property
    def url(self) -> str:
        """The URL with all the servers, as the product reads it."""
        addresses = ','.join(f'127.0.0.1:{port}' for port in self.ports)
        return f'zookeeper://{addresses}'

    def _leads(self, member: ZooKeeper) -> bool:
        with contextlib.suppress(OSError):
            return 'Mode: leader' in member.ask('srvr', 1)
        return False


def _java() -> str:
    found = shutil.which('java')
    if found is None or not _LIBRARIES.exists():
        raise process.LabError(
            'ZooKeeper is not installed: install the Debian packages '
            'libzookeeper-java and default-jre-headless (see bindep.txt)'
        )
    return found
