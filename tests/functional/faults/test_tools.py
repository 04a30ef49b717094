"""Faults on request do happen: network, clock and disk of the lab."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import queue
import socket
import sqlite3
import subprocess
import sys
import threading
import unittest
import urllib.request

from lab import (
    faketime,
    ironic_cache,
    network,
    process,
    proxy,
)
from tests.functional.support import databases, hosts

CLOCKS = 'import time; print(time.time(), time.monotonic())'


class NetworkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.heard: queue.Queue[bytes] = queue.Queue()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.listener.close)
        threading.Thread(target=self.serve, daemon=True).start()
        self.direct = self.listener.getsockname()[1]
        self.proxy = proxy.Proxy(self.direct)
        self.addCleanup(self.proxy.close)

    def serve(self) -> None:
        """Answer everything with itself, in capitals."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self.echo, args=(client,), daemon=True
            ).start()

    def echo(self, client: socket.socket) -> None:
        with client:
            while data := client.recv(100):
                self.heard.put(data)
                client.sendall(data.upper())

    def connect(self, port: int) -> socket.socket:
        made = socket.create_connection(('127.0.0.1', port), hosts.TIMEOUT)
        self.addCleanup(made.close)
        return made

    def ask(self, connection: socket.socket, data: bytes) -> bytes:
        connection.sendall(data)
        return connection.recv(100)

    def test_what_is_sent_into_a_silence_arrives_after_it(self) -> None:
        through, beside = (
            self.connect(self.proxy.port),
            self.connect(self.direct),
        )
        self.assertEqual(b'A', self.ask(through, b'a'))
        for silence in (self.proxy.silence, lambda: self.proxy.delay(1e6)):
            silence()
            through.sendall(b'b')
            self.assertEqual(b'C', self.ask(beside, b'c'))
            self.proxy.forward()
            self.assertEqual(b'B', through.recv(100))
        heard = [self.heard.get() for _ in range(5)]
        self.assertEqual([b'a', b'c', b'b', b'c', b'b'], heard)

    def test_who_gave_up_during_a_silence_was_never_there(self) -> None:
        self.proxy.silence()
        gone = self.connect(self.proxy.port)
        gone.sendall(b'a')
        gone.close()
        waiting = self.connect(self.proxy.port)
        waiting.sendall(b'b')
        self.proxy.forward()
        self.assertEqual(b'B', waiting.recv(100))
        self.assertEqual(b'b', self.heard.get())

    def test_cut_ends_connections_and_refuses_new_ones(self) -> None:
        through = self.connect(self.proxy.port)
        self.assertEqual(b'A', self.ask(through, b'a'))
        self.proxy.cut()
        with contextlib.suppress(ConnectionError):
            self.assertEqual(b'', through.recv(100))
        with self.assertRaises(ConnectionRefusedError):
            self.connect(self.proxy.port)
        self.proxy.forward()
        self.assertEqual(b'D', self.ask(self.connect(self.proxy.port), b'd'))


class LatePortTest(unittest.TestCase):
    """A network of several servers, one of which does not listen yet."""

    def test_connection_waits_for_a_port_that_opens_late(self) -> None:
        port = process.free_port()
        with network.Network() as between:
            client = socket.create_connection(
                ('127.0.0.1', between.connect('late', port, hosts.TIMEOUT))
            )
            self.addCleanup(client.close)
            # Enough for a network that does not wait to end it.
            client.settimeout(0.5)
            with self.assertRaises(TimeoutError):
                client.recv(1)
            with socket.create_server(('127.0.0.1', port)) as late:
                client.sendall(b'a')
                server, _ = late.accept()
                self.addCleanup(server.close)
                self.assertEqual(b'a', server.recv(1))


class ClockTest(unittest.TestCase):
    def test_wall_clock_jumps_and_the_other_does_not(self) -> None:
        clock = faketime.Clock(databases.temporary_directory('clock'))
        self.wall, self.other = self.read(clock)
        for seconds in (86400, -86400):
            clock.jump(seconds)
            wall, other = self.read(clock)
            self.assertEqual(seconds > 0, wall > self.wall + 43200)
            self.assertEqual(seconds < 0, wall < self.wall - 43200)
            self.assertLess(other - self.other, 43200)

    def read(self, clock: faketime.Clock) -> tuple[float, float]:
        done = subprocess.run(
            [sys.executable, '-c', CLOCKS],
            env=clock.env,
            capture_output=True,
            text=True,
            check=True,
        )
        wall, other = map(float, done.stdout.split())
        return wall, other


class _Counting(http.server.BaseHTTPRequestHandler):
    """Answers with how often it was asked, in place of an Ironic."""

    number = 0

    def do_GET(self) -> None:
        type(self).number += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'{self.path} {self.number}'.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class CacheTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = databases.temporary_directory('ironic')
        self.database = directory / 'ironic.db'
        self.write('CREATE TABLE nodes (name VARCHAR(10))')
        self.server = http.server.HTTPServer(('127.0.0.1', 0), _Counting)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        _Counting.number = 0
        self.cache = ironic_cache.IronicCache(
            self.server.server_port, pathlib.Path(self.database)
        )
        self.addCleanup(self.cache.close)

    def write(self, statement: str) -> None:
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            database.execute(statement)
            database.commit()

    def ask(self, path: str, request: str = 'req-1') -> str:
        asked = urllib.request.Request(
            f'http://127.0.0.1:{self.cache.port}{path}',
            headers={'X-OpenStack-Request-ID': request},
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            self.assertIn('Date', answer.headers)
            return str(answer.read().decode())

    def test_answer_is_repeated_until_the_database_changes(self) -> None:
        self.assertEqual('/v1 1', self.ask('/v1'))
        self.assertEqual('/v1 1', self.ask('/v1', 'req-2'))
        self.assertEqual('/v2 2', self.ask('/v2'))
        self.write("INSERT INTO nodes VALUES ('one')")
        self.assertEqual('/v1 3', self.ask('/v1'))
        self.assertEqual('/v1 3', self.ask('/v1'))

    def test_server_that_is_down_has_no_answers(self) -> None:
        self.assertEqual('/v1 1', self.ask('/v1'))
        self.server.shutdown()
        self.server.server_close()
        with self.assertRaises(OSError):
            self.ask('/v1')

    def test_writes_are_passed_on(self) -> None:
        posted = urllib.request.Request(
            f'http://127.0.0.1:{self.cache.port}/v1', b'{}', method='POST'
        )
        with self.assertRaises(urllib.request.HTTPError) as refused:
            urllib.request.urlopen(posted, timeout=60)
        # What the server says that knows no POST.
        self.assertEqual(501, refused.exception.code)
        refused.exception.close()
