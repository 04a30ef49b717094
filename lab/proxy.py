"""TCP proxy that simulates network faults between a client and a server.

The client is configured with the port of the proxy instead of the server's.
It needs no privileges, no network namespaces and no firewall.
"""

from __future__ import annotations

import contextlib
import enum
import select
import socket
import threading
from typing import Self

_CHUNK = 65536


class _Mode(enum.Enum):
    FORWARD = 'forward'
    SILENT = 'silent'
    CUT = 'cut'
    CLOSED = 'closed'


class Proxy:
    """A proxy in front of one server, which forwards until told otherwise.

    :param target: port of the server on 127.0.0.1.
    :ivar port: port for the client, the same for as long as this lives.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._changed = threading.Condition()
        self._mode = _Mode.FORWARD
        self._delay = 0.0
        self._sockets: set[socket.socket] = set()
        self._bound = _bound_to(0)
        self._listens = False
        self.port: int = self._bound.getsockname()[1]
        self._listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def forward(self) -> None:
        """End every fault.

        Data that were delayed by a silence arrive now, as in a network that
        retransmits unacknowledged packets.
        """
        self._become(_Mode.FORWARD, 0.0)

    def silence(self) -> None:
        """Drop all data in both directions.

        Connections stay open, new ones are accepted and get no answer.
        """
        self._become(_Mode.SILENT, 0.0)

    def delay(self, seconds: float) -> None:
        """Add latency to everything that the client sends.

        :param seconds: for each chunk.
        """
        self._become(_Mode.FORWARD, seconds)

    def cut(self) -> None:
        """Reset all connections and refuse new ones."""
        self._become(_Mode.CUT, 0.0)

    def retarget(self, target: int) -> None:
        """Reset all connections, and lead new ones to another server.

        As an address that moves to the machine that took over.
        """
        self.cut()
        self._target = target
        self.forward()

    def close(self) -> None:
        """End all connections and stop listening. Idempotent."""
        self._become(_Mode.CLOSED, 0.0)

    def _become(self, mode: _Mode, delay: float) -> None:
        with self._changed:
            if self._mode is _Mode.CLOSED:
                return
            self._mode, self._delay = mode, delay
            if mode in (_Mode.CUT, _Mode.CLOSED):
                self._end_all()
            elif not self._listens:
                self._listen()
            self._changed.notify_all()

    def _end_all(self) -> None:
        # close() alone would not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self._bound.shutdown(socket.SHUT_RDWR)
        self._bound.close()
        self._listens = False
        if self._mode is _Mode.CUT:
            # Bound without listening: reserved, and connections are refused.
            self._bound = _bound_to(self.port)
        for one in self._sockets:
            _end(one)
        self._sockets.clear()

    def _listen(self) -> None:
        self._bound.listen(128)
        self._listens = True
        _start(self._accept, self._bound)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # cut or closed
                return
            if self._keep(client):
                _start(self._serve, client)

    def _keep(self, one: socket.socket) -> bool:
        """Remember a socket, so that a cut ends it too."""
        with self._changed:
            if self._mode not in (_Mode.CUT, _Mode.CLOSED):
                self._sockets.add(one)
                return True
        _end(one)
        return False

    def _serve(self, client: socket.socket) -> None:
        self._pass(0.0)
        if _has_gone(client):
            # It disconnected during a silence: the server never sees it.
            self._forget(client)
            return
        try:
            server = socket.create_connection(('127.0.0.1', self._target))
        except OSError:
            self._forget(client)
            return
        if self._keep(server):
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _start(self._pump, client, server, True)
            _start(self._pump, server, client, False)

    def _pump(
        self, source: socket.socket, sink: socket.socket, slow: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._pass(self._delay if slow else 0.0)
                sink.sendall(data)
            self._pass(0.0)
        self._forget(source)
        self._forget(sink)

    def _pass(self, delay: float) -> None:
        """Wait for the delay, and for the end of a silence."""
        with self._changed:
            if delay:
                self._changed.wait(delay)
            self._changed.wait_for(lambda: self._mode is not _Mode.SILENT)

    def _forget(self, one: socket.socket) -> None:
        with self._changed:
            self._sockets.discard(one)
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def _bound_to(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(('127.0.0.1', port))
    return bound


def _start(target: object, *args: object) -> None:
    threading.Thread(
        target=target,  # type: ignore[arg-type]
        args=args,
        daemon=True,
    ).start()


def _end(one: socket.socket) -> None:
    """Reset a connection; unsent data are lost."""
    with contextlib.suppress(OSError):
        one.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b'\x01\0\0\0\0\0\0\0'
        )
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def _has_gone(client: socket.socket) -> bool:
    poll = select.poll()
    try:
        # A ValueError: another thread has closed it.
        poll.register(client, select.POLLRDHUP | select.POLLHUP)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True
