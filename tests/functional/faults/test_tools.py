"""Faults on request do happen: network, clock and disk of the lab."""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import unittest

from lab import faketime, proxy, small_disk
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


class DiskTest(unittest.TestCase):
    def test_full_disk_takes_nothing_more_until_it_is_freed(self) -> None:
        directory = databases.temporary_directory('disk')
        disk = small_disk.SmallDisk(directory, 1 << 20)
        self.addCleanup(disk.close)
        self.assertFalse(disk.is_full)
        disk.fill()
        self.assertTrue(disk.is_full)
        disk.free()
        self.assertFalse(disk.is_full)
