"""The HTTP service as an operator runs it, over a real Ironic and records."""

from __future__ import annotations

import http.client
import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from lab import process
from tests.functional.support import command_line, ironics, programs

COMMAND = (
    sys.executable,
    '-c',
    'import sys; from ironic_ownership.cmd.api import main; sys.exit(main())',
)
TIMEOUT = 180.0
"""Seconds that one answer may take; mostly it takes far less than one."""


class Answer:
    """A response of the server.

    :ivar body: what it says, read from JSON if it says that it is.
    """

    def __init__(self, raw: http.client.HTTPResponse, head: bool) -> None:
        self.status = raw.status
        self.headers = {k.lower(): v for k, v in raw.getheaders()}
        self.text = raw.read().decode()
        kind = self.headers.get('content-type', '')
        is_json = kind.startswith('application/json') and not head
        self.body: Any = json.loads(self.text) if is_json else None


def program(config: pathlib.Path, log: pathlib.Path) -> process.Process:
    """Return our own program, which is not started."""
    return programs.begin(programs.API, ['--config-file', str(config)], log)


class Api:
    """One process that serves HTTP.

    :param server: the process, which is not started.
    :param port: where it listens, on loopback.
    """

    def __init__(self, server: process.Process, port: int) -> None:
        self.port = port
        self.url = f'http://127.0.0.1:{port}'
        self.process = server

    def start(self) -> Api:
        self.process.start()
        self.process.wait_until(self._is_healthy, 'answer')
        return self

    def _is_healthy(self) -> bool:
        try:
            return self.ask('GET', '/healthcheck').status == 200
        except OSError:
            return False

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {'Connection': 'close', **(headers or {})}
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            sent.setdefault('Content-Type', 'application/json')
        connection = http.client.HTTPConnection(
            '127.0.0.1', self.port, timeout=TIMEOUT
        )
        try:
            connection.request(method, path, data, sent)
            return Answer(connection.getresponse(), method == 'HEAD')
        finally:
            connection.close()


class ApiCase(ironics.IronicTestCase):
    """``old`` is stopped and owns four nodes of two shards; ``new`` lives."""

    nodes_of_each = 2

    def setUp(self) -> None:
        super().setUp()
        self.bare_metal = ironics.open_ironic(self.server.endpoint)
        self.populate()
        self.addCleanup(self.lab.close)

    def populate(self) -> None:
        """Fill the records before anything is asked."""
        self.lab = command_line.Deployment(self.endpoint)
        old = self.lab.serve('old', command_line.ALL, alive=False)
        self.lab.serve('new', command_line.ALL)
        self.nodes = sorted(
            [
                *self.enrolment.enrol(self.nodes_of_each, shard='a'),
                *self.enrolment.enrol(self.nodes_of_each, shard='b'),
            ]
        )
        found = [self.bare_metal.get(uuid) for uuid in self.nodes]
        self.lab.claim('old', old, *filter(None, found))
        self.lab.records.set_service('old', actor='test', disabled=True)

    def configure(self, options: str = '', **more: str) -> pathlib.Path:
        """Write a configuration file with a free port."""
        self.port = process.free_port()
        if 'auth_strategy' not in options:
            options = f'auth_strategy = noauth\n{options}'
        return self.lab.configure(
            f'api-{self.port}',
            more=f'[api]\nport = {self.port}\n{options}\n',
            **more,
        )

    def serve(self, options: str = '', **more: str) -> Api:
        config = self.configure(options, **more)
        return self.run_server(program(config, self.log))

    @property
    def log(self) -> pathlib.Path:
        return self.lab.directory / f'api-{self.port}.log'

    def run_server(self, server: process.Process) -> Api:
        """Start any program that serves on the configured port."""
        api = Api(server, self.port)
        self.addCleanup(api.process.kill)
        return api.start()
