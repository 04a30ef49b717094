"""A network between several servers on loopback that can be partitioned.

Each server is reached by the others through a port of this network. The
source of a connection is the process that has its other end, so one port of
each server is enough, as in servers that tell their address to others.
"""

from __future__ import annotations

import functools
import socket
import time
from collections.abc import Callable, Collection

from lab import forwarding, process, sockets

_RETRY = 0.01


class Network(forwarding.Forwarder):
    """Forwards between processes that can reach each other.

    Processes without a name, such as those of clients, share the name of an
    empty string.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pid_of: dict[str, Callable[[], int | None]] = {}
        self._sides: tuple[frozenset[str], ...] = ()
        self._addresses: dict[bytes, bytes] = {}
        self._closed = False

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
        port = process.free_port()
        listener = forwarding.bound_to(port)
        listener.listen(128)
        self._keep(listener)
        self._addresses[_address(target)] = _address(port)
        connect = functools.partial(_connection, target, opens_within)
        serve = functools.partial(self._serve, name, port, connect)
        forwarding.start(self._accept, listener, serve)
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
                forwarding.reset(one)
            self._sockets.clear()

    def _is_open(self) -> bool:
        return not self._closed

    def _serve(
        self,
        name: str,
        here: int,
        connect: Callable[[], socket.socket],
        client: socket.socket,
        port: int,
    ) -> None:
        ends = self._source(port, here), name
        self._pass(*ends)
        self._join(client, connect, ends, ends)

    def _source(self, port: int, here: int) -> str:
        """Return the name of the process that has a connection."""
        known = {f'socket:[{inode}]' for inode in sockets.inodes(port, here)}
        for name, pid_of in list(self._pid_of.items()):
            if known & sockets.files(pid_of()):
                return name
        return ''

    def _arriving(self, data: bytes) -> bytes:
        # A server may tell another where it listens.
        for real, proxied in list(self._addresses.items()):
            data = data.replace(real, proxied)
        return data

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
