"""Repeats Ironic's answers for as long as its database has not changed.

Several services that read the same nodes every few seconds would keep a
processor busy with Ironic alone: a node of a detailed list costs it about
15 ms. The same question has the same answer until its database changes, which
SQLite tells by a number. Only the time of an answer (``Date``) is new.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import pathlib
import sqlite3
import threading
from collections.abc import Sequence
from typing import NamedTuple

from lab import process

_TIMEOUT = 180.0
_NOT_PASSED_ON = frozenset(
    (
        *('connection', 'content-length', 'date', 'keep-alive', 'server'),
        'transfer-encoding',
    )
)
"""Headers of one connection or one moment."""

_OF_ONE_REQUEST = 'x-openstack-request-id'


class Answer(NamedTuple):
    """One answer of Ironic."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class IronicCache:
    """A server in front of an Ironic on SQLite.

    :param port: of Ironic, on 127.0.0.1.
    :param database: of Ironic.
    :ivar port: for clients.
    :ivar asked: requests of clients.
    :ivar passed_on: those of them that Ironic has answered.
    """

    def __init__(self, port: int, database: pathlib.Path) -> None:
        self.asked = self.passed_on = 0
        self.port = process.free_port()
        self._target = port
        self._lock = threading.Lock()
        self._version = -1
        self._answers: dict[object, Answer] = {}
        self._asking: dict[object, threading.Lock] = {}
        self._database = sqlite3.connect(
            f'file:{database}?mode=ro',
            uri=True,
            timeout=_TIMEOUT,
            check_same_thread=False,
        )
        self._server = _Server(('127.0.0.1', self.port), self)
        threading.Thread(
            target=self._server.serve_forever, daemon=True
        ).start()

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._database.close()

    def get(self, path: str, headers: dict[str, str]) -> Answer:
        """Return the answer to one GET.

        :raises OSError: or an error of ``http.client``, if Ironic does not
            answer.
        """
        same = {k: v for k, v in headers.items() if k != _OF_ONE_REQUEST}
        key = path, tuple(sorted(same.items()))
        with self._lock:
            self._check_version()
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # the others wait for the answer to the first
            with self._lock:
                self.asked += 1
                version = self._check_version()
                known = self._answers.get(key)
            # What is known is repeated only while Ironic could say it.
            if known is not None and process.answers_tcp(self._target):
                return known
            answer = self.ask('GET', path, headers, None)
            with self._lock:
                self.passed_on += 1
                if self._check_version() == version:
                    self._answers[key] = answer
        return answer

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None,
    ) -> Answer:
        """Ask Ironic."""
        connection = http.client.HTTPConnection(
            '127.0.0.1', self._target, timeout=_TIMEOUT
        )
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            kept = [
                (name, value)
                for name, value in answer.getheaders()
                if name.lower() not in _NOT_PASSED_ON
            ]
            return Answer(answer.status, kept, answer.read())

    def _check_version(self) -> int:
        """Drop what is known, if the database has changed."""
        ((version,),) = self._database.execute('PRAGMA data_version')
        if version != self._version:
            self._version = version
            self._answers.clear()
            self._asking.clear()
        return self._version


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], cache: IronicCache) -> None:
        super().__init__(address, _Handler)
        self.cache = cache

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients are killed and cut off."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        self._answer(self.server.cache.get(self.path, self._kept()))

    def _pass_on(self) -> None:
        length = int(self.headers.get('content-length', 0))
        self._answer(
            self.server.cache.ask(
                self.command, self.path, self._kept(), self.rfile.read(length)
            )
        )

    do_DELETE = do_HEAD = do_PATCH = do_POST = do_PUT = _pass_on  # noqa: N815

    def _kept(self) -> dict[str, str]:
        return {
            name.lower(): value
            for name, value in self.headers.items()
            if name.lower() not in (*_NOT_PASSED_ON, 'host')
        }

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
