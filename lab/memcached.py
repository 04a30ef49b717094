"""A private memcached server."""

from __future__ import annotations

from lab import process, server

_USER = 'nobody'


class Memcached(server.Server):
    """One server."""

    title = 'memcached'

    @property
    def url(self) -> str:
        """The URL as tooz reads it."""
        return f'memcached://127.0.0.1:{self.port}'

    def lose_data(self) -> None:
        """Stop the server and start it again, empty, on the same port."""
        self.restart()

    def _prepare(self) -> process.Process:
        return process.Process(
            [
                server.program('memcached', 'memcached'),
                *('-l', '127.0.0.1'),
                *('-p', str(self.port)),
                *('-U', '0'),
                # memcached refuses to run as root.
                *('-u', _USER),
                *('-m', '16'),
                *('-c', '4096'),
            ],
            self._directory / 'memcached.log',
        )

    def _answers(self) -> bool:
        return process.answers_tcp(self.port)
