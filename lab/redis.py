"""A private Redis server without persistence."""

from __future__ import annotations

import contextlib
import pathlib
import socket

from lab import process, server


class Redis(server.Server):
    """One server.

    :param password: of its clients; empty for none.
    """

    title = 'Redis'

    def __init__(self, directory: pathlib.Path, password: str = '') -> None:
        super().__init__(directory)
        self._password = password

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        secret = f':{self._password}@' if self._password else ''
        return f'redis://{secret}127.0.0.1:{self.port}'

    def lose_data(self) -> None:
        """Stop the server and start it again, empty, on the same port."""
        self.restart()

    def _prepare(self) -> process.Process:
        secret = self._password
        return process.Process(
            [
                server.program('redis-server', 'redis-server'),
                *('--bind', '127.0.0.1'),
                *('--port', str(self.port)),
                *('--dir', str(self._directory)),
                *('--save', ''),
                *('--appendonly', 'no'),
                *(('--requirepass', secret) if secret else ()),
            ],
            self._directory / 'redis.log',
        )

    def _answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(('127.0.0.1', self.port), 1) as probe,
        ):
            probe.sendall(b'PING\r\n')
            # An authentication error is an answer as well.
            return probe.recv(100)[:1] in (b'+', b'-')
        return False
