"""Faults on request do happen: network and clock of the lab."""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import unittest

from lab import faketime, proxy
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
        with contextlib.suppress(OSError):  # the test is over
            while True:
                client, _ = self.listener.accept()
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
        through = self.connect(self.proxy.port)
        beside = self.connect(self.direct)
        self.assertEqual(b'A', self.ask(through, b'a'))
        for silence in (self.proxy.silence, lambda: self.proxy.delay(1e6)):
            silence()
            through.sendall(b'b')
            self.assertEqual(b'C', self.ask(beside, b'c'))
            self.proxy.forward()
            self.assertEqual(b'B', through.recv(100))
        heard = [self.heard.get() for _ in range(5)]
        self.assertEqual([b'a', b'c', b'b', b'c', b'b'], heard)

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


class ClockTest(unittest.TestCase):
    def test_wall_clock_jumps_and_the_other_does_not(self) -> None:
        clock = faketime.Clock(databases.temporary_directory('clock'))
        (first_wall, first_other), *after = (
            self.read(clock, seconds) for seconds in (0, 86400, -86400)
        )
        for sign, (wall, other) in zip((1, -1), after, strict=True):
            self.assertGreater(sign * (wall - first_wall), 43200)
            self.assertLess(other - first_other, 43200)

    def read(self, clock: faketime.Clock, seconds: int) -> list[float]:
        clock.jump(seconds)
        done = subprocess.run(
            [sys.executable, '-c', CLOCKS],
            env=clock.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return [float(word) for word in done.stdout.split()]
