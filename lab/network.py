"""A network between several servers on loopback that can be partitioned.

Each server is reached by the others through a port of this network. The
source of a connection is the process that has its other end, so one port of
each server is enough, as in servers that tell their address to others.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import Self

from lab import process, sockets

_CHUNK = 65536
_RETRY = 0.01


class Network:
    """Forwards between processes that can reach each other.

    Processes without a name, such as those of clients, share the name of an
    empty string.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pid_of: dict[str, Callable[[], int | None]] = {}
        self._sides: tuple[frozenset[str], ...] = ()
        self._sockets: set[socket.socket] = set()
        self._addresses: dict[bytes, bytes] = {}
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def name(self, name: str, pid: Callable[[], int | None]) -> None:
        """Name a process, which has another id after each of its starts."""
        self._pid_of[name] = pid

    def connect(self, name: str, target: int, opens_within: float = 0) -> int:
        """Return the port by which others reach a port of a process.

        :param name: of the process that listens there.
        :param target: its port on 127.0.0.1.
        :param opens_within: seconds that a connection waits for the process
            to listen. This network can end a connection, and not refuse it:
            a client that tries again only after a refusal needs a wait.
        """
        listener = socket.socket()
        port = process.free_port()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(('127.0.0.1', port))
        listener.listen(128)
        self._keep(listener)
        self._addresses[_address(target)] = _address(port)
        _start(self._accept, listener, name, target, opens_within)
        return port

    def partition(self, *sides: Collection[str]) -> None:
        """Drop all data between sides; connections stay open.

        A process that is on no side reaches all of them.
        """
        with self._changed:
            self._sides = tuple(frozenset(side) for side in sides)

    def heal(self) -> None:
        """End the partition; what was dropped is transmitted again."""
        with self._changed:
            self._sides = ()
            self._changed.notify_all()

    def close(self) -> None:
        """End all connections. Idempotent."""
        with self._changed:
            self._closed = True
            self._sides = ()
            self._changed.notify_all()
            for one in self._sockets:
                _end(one)
            self._sockets.clear()

    def _accept(
        self,
        listener: socket.socket,
        name: str,
        target: int,
        opens_within: float,
    ) -> None:
        while True:
            try:
                client, (_, port) = listener.accept()
            except OSError:  # closed
                return
            if self._keep(client):
                here = listener.getsockname()[1]
                ends = port, here
                _start(self._serve, client, ends, name, target, opens_within)

    def _keep(self, one: socket.socket) -> bool:
        with self._changed:
            if not self._closed:
                self._sockets.add(one)
                return True
        _end(one)
        return False

    def _serve(
        self,
        client: socket.socket,
        ends: tuple[int, int],
        name: str,
        target: int,
        opens_within: float,
    ) -> None:
        source = self._source(*ends)
        self._pass(source, name)
        try:
            server = _connection(target, opens_within)
        except OSError:
            self._forget(client)
            return
        if self._keep(server):
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _start(self._pump, client, server, source, name)
            _start(self._pump, server, client, source, name)

    def _source(self, port: int, here: int) -> str:
        """Return the name of the process that has a connection."""
        known = {f'socket:[{inode}]' for inode in sockets.inodes(port, here)}
        for name, pid_of in list(self._pid_of.items()):
            if known & sockets.files(pid_of()):
                return name
        return ''

    def _pump(
        self, source: socket.socket, sink: socket.socket, *ends: str
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._pass(*ends)
                # A server may tell another where it listens.
                for real, proxied in list(self._addresses.items()):
                    data = data.replace(real, proxied)
                sink.sendall(data)
            self._pass(*ends)
        self._forget(source)
        self._forget(sink)

    def _pass(self, *ends: str) -> None:
        """Wait until two processes reach each other."""
        with self._changed:
            self._changed.wait_for(lambda: not self._separates(*ends))

    def _separates(self, one: str, other: str) -> bool:
        sides = [
            index
            for end in (one, other)
            for index, side in enumerate(self._sides)
            if end in side
        ]
        return len(sides) == 2 and sides[0] != sides[1]

    def _forget(self, one: socket.socket) -> None:
        with self._changed:
            self._sockets.discard(one)
        _end(one)


def _address(port: int) -> bytes:
    return f'127.0.0.1:{port}'.encode('ascii')


def _connection(target: int, opens_within: float) -> socket.socket:
    gives_up = time.monotonic() + opens_within
    while True:
        try:
            return socket.create_connection(('127.0.0.1', target))
        except ConnectionRefusedError:
            if time.monotonic() > gives_up:
                raise
            time.sleep(_RETRY)


def _start(target: object, *args: object) -> None:
    threading.Thread(
        target=target,  # type: ignore[arg-type]
        args=args,
        daemon=True,
    ).start()


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
