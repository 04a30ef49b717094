"""A private ZooKeeper server.

Debian's package brings the libraries; the service is another package, which
is not needed here.
"""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import socket

from lab import process, server

_LIBRARIES = pathlib.Path('/usr/share/java/zookeeper.jar')

TICK = 0.2
"""Seconds. Sessions last from two to twenty thousand ticks here, and expire at
most one tick late."""


class ZooKeeper(server.Server):
    """One server with a data directory of its own.

    :param shortest: seconds of the shortest session that it grants.
    :param longest: seconds of the longest one.
    """

    title = 'ZooKeeper'

    def __init__(
        self,
        directory: pathlib.Path,
        *,
        shortest: float = 2 * TICK,
        longest: float = 3600,
    ) -> None:
        super().__init__(directory)
        self._shortest = shortest
        self._longest = longest
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
            f'clientPort={self.port}\n'
            'clientPortAddress=127.0.0.1\n'
            f'tickTime={round(TICK * 1000)}\n'
            f'minSessionTimeout={round(self._shortest * 1000)}\n'
            f'maxSessionTimeout={round(self._longest * 1000)}\n'
            'maxClientCnxns=0\n'
            'admin.enableServer=false\n'
            '4lw.commands.whitelist=*\n'
        )
        return process.Process(
            [
                _java(),
                *('-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'),
                # The data need not survive a power cut.
                '-Dzookeeper.forceSync=no',
                *('-cp', str(_LIBRARIES)),
                'org.apache.zookeeper.server.ZooKeeperServerMain',
                str(config),
            ],
            self._directory / 'zookeeper.log',
            cwd=self._directory,
        )

    def lose_data(self) -> None:
        """Stop the server and start it again, empty, on the same port."""
        self.stop()
        shutil.rmtree(self._data)
        self.start()

    def ask(self, word: str) -> str:
        """Return the answer to one of the four-letter words."""
        with socket.create_connection(('127.0.0.1', self.port), 5) as asked:
            asked.sendall(word.encode('ascii'))
            answer = b''
            while part := asked.recv(65536):
                answer += part
        return answer.decode()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            # A server that answers "ruok" need not serve yet: early clients
            # may wait until they time out.
            return 'Mode: ' in self.ask('srvr')
        return False


def _java() -> str:
    found = shutil.which('java')
    if found is None or not _LIBRARIES.exists():
        raise process.LabError(
            'ZooKeeper is not installed: install the Debian packages '
            'libzookeeper-java and default-jre-headless (see bindep.txt)'
        )
    return found
