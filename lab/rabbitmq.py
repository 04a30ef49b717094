"""A private RabbitMQ, the message bus of a Nova, on the loopback interface.

Erlang finds the port of a node through a daemon, epmd, which would listen on
all addresses and remain. The server has one of its own, which ends with it.
"""

from __future__ import annotations

import os
import pathlib
import secrets
import shutil
import socket

from lab import process, server

_USER = 'rabbitmq'
_PROGRAM = '/usr/lib/rabbitmq/bin/rabbitmq-server'
_GREETING = b'AMQP\x00\x00\x09\x01'
"""The first bytes of a client of AMQP 0-9-1."""

_CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
# The disk of a test machine may be full of other files.
disk_free_limit.absolute = 1MB
log.console = true
log.console.level = warning
log.file = false
"""


class RabbitMQ(server.Server):
    """One broker with the user ``guest``, whose password is ``guest``."""

    title = 'RabbitMQ'

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(directory)
        self._epmd_port = process.free_port()
        self._distribution_port = process.free_port()
        self._epmd: process.Process | None = None
        self._cookie = secrets.token_hex()

    @property
    def url(self) -> str:
        """The URL as oslo.messaging reads it."""
        return f'rabbit://guest:guest@127.0.0.1:{self.port}/'

    def begin(self) -> None:
        """Start the server and its epmd, and do not wait for an answer."""
        if self._epmd is None:
            self._epmd = process.Process(
                [
                    *(server.program('epmd', 'erlang-base'), '-address'),
                    *('127.0.0.1', '-port', str(self._epmd_port)),
                ],
                self._directory / 'epmd.log',
            ).start()
            self._epmd.wait_until(
                lambda: process.answers_tcp(self._epmd_port), 'epmd'
            )
        super().begin()

    def stop(self) -> None:
        """Stop the server; clients are disconnected."""
        super().stop()
        self._stop_epmd()

    def kill(self) -> None:
        """End the server with SIGKILL; what was queued is lost."""
        super().kill()
        self._stop_epmd()

    def _stop_epmd(self) -> None:
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd = None

    def _prepare(self) -> process.Process:
        if not pathlib.Path(_PROGRAM).exists():
            raise process.LabError(
                f'{_PROGRAM} is not installed: install the Debian package '
                'rabbitmq-server (see bindep.txt)'
            )
        home = self._home()
        return process.Process(
            [_PROGRAM],
            self._directory / 'rabbitmq.log',
            env=self._environment(home),
            user=_USER,
            cwd=home,
        )

    def _home(self) -> pathlib.Path:
        """Return the directory of its files, which the server may write."""
        home = self._directory / 'rabbitmq'
        if not home.exists():
            home.mkdir()
            (home / 'plugins').write_text('[].')
            (home / 'rabbitmq.conf').write_text(
                _CONFIGURATION.format(port=self.port)
            )
            (home / 'environment').touch()
            if os.geteuid() == 0:
                for path in (home, *home.iterdir()):
                    shutil.chown(path, _USER)
        return home

    def _environment(self, home: pathlib.Path) -> dict[str, str]:
        erlang = (
            '-kernel inet_dist_use_interface {127,0,0,1} '
            f'-setcookie {self._cookie} '
            # Idle threads that spin would take a processor from the tests.
            '+sbwt none +sbwtdcpu none +sbwtdio none'
        )
        return {
            'HOME': str(home),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            'ERL_EPMD_PORT': str(self._epmd_port),
            'RABBITMQ_CONF_ENV_FILE': str(home / 'environment'),
            'RABBITMQ_CONFIG_FILE': str(home / 'rabbitmq'),
            'RABBITMQ_ADVANCED_CONFIG_FILE': str(home / 'advanced'),
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(home / 'plugins'),
            'RABBITMQ_MNESIA_BASE': str(home / 'data'),
            'RABBITMQ_LOG_BASE': str(home / 'log'),
            'RABBITMQ_NODENAME': 'lab@localhost',
            'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
            'RABBITMQ_NODE_PORT': str(self.port),
            'RABBITMQ_DIST_PORT': str(self._distribution_port),
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': erlang,
            # Otherwise a shell would be the parent of the server, and the
            # server would survive its SIGKILL.
            'RABBITMQ_ALLOW_INPUT': 'true',
            'RABBITMQ_SERVER_START_ARGS': '-noinput',
        }

    def _answers(self) -> bool:
        try:
            with socket.create_connection(
                ('127.0.0.1', self.port), timeout=5
            ) as client:
                client.sendall(_GREETING)
                return bool(client.recv(1))
        except OSError:
            return False
