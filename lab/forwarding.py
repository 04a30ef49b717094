"""Base of what forwards between clients and servers on loopback."""

from __future__ import annotations

import abc
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

_CHUNK = 65536


class Forwarder(abc.ABC):
    """Connections of clients, each with one to a server."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sockets: set[socket.socket] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abc.abstractmethod
    def close(self) -> None:
        """End all connections and stop listening. Idempotent."""

    @abc.abstractmethod
    def _is_open(self) -> bool:
        """Tell whether there may be connections."""

    @abc.abstractmethod
    def _pass(self, *way: Any) -> None:
        """Wait until what is sent on a way may arrive."""

    def _arriving(self, data: bytes) -> bytes:
        """Return what arrives of data."""
        return data

    def _accept(
        self, listener: socket.socket, serve: Callable[..., object]
    ) -> None:
        """Serve each connection in a thread, with the port it is from."""
        while True:
            try:
                client, (_, port) = listener.accept()
            except OSError:  # closed
                return
            if self._keep(client):
                start(serve, client, port)

    def _keep(self, one: socket.socket) -> bool:
        """Remember a socket, to end it with all others."""
        with self._changed:
            if self._is_open():
                self._sockets.add(one)
                return True
        reset(one)
        return False

    def _forget(self, *ended: socket.socket) -> None:
        for one in ended:
            with self._changed:
                self._sockets.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _join(
        self,
        client: socket.socket,
        connect: Callable[[], socket.socket],
        there: Sequence[Any],
        back: Sequence[Any],
    ) -> None:
        """Connect to the server of a client, and forward on both ways."""
        try:
            server = connect()
        except OSError:
            self._forget(client)
            return
        if self._keep(server):
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            start(self._pump, client, server, *there)
            start(self._pump, server, client, *back)

    def _pump(
        self, source: socket.socket, sink: socket.socket, *way: Any
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._pass(*way)
                sink.sendall(self._arriving(data))
            self._pass(*way)
        self._forget(source, sink)


def bound_to(port: int) -> socket.socket:
    """Return a socket for connections to a port, which does not listen."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(('127.0.0.1', port))
    return bound


def start(target: Callable[..., object], *args: object) -> None:
    """Call a function in a thread of its own."""
    threading.Thread(target=target, args=args, daemon=True).start()


def reset(one: socket.socket) -> None:
    """Reset a connection; unsent data are lost."""
    with contextlib.suppress(OSError):
        one.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b'\x01\0\0\0\0\0\0\0'
        )
        one.shutdown(socket.SHUT_RDWR)
    one.close()
