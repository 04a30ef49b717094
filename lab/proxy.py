"""TCP proxy that simulates network faults between a client and a server.

The client is configured with the port of the proxy instead of the server's.
It needs no privileges, no network namespaces and no firewall.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import select
import socket

from lab import forwarding


class _Mode(enum.Enum):
    FORWARD = 'forward'
    SILENT = 'silent'
    CUT = 'cut'
    CLOSED = 'closed'


class Proxy(forwarding.Forwarder):
    """A proxy in front of one server, which forwards until told otherwise.

    :param target: port of the server on 127.0.0.1.
    :ivar port: port for the client, the same for as long as this lives.
    """

    def __init__(self, target: int) -> None:
        super().__init__()
        self._target = target
        self._mode = _Mode.FORWARD
        self._delay = 0.0
        self._bound = forwarding.bound_to(0)
        self._listens = False
        self.port: int = self._bound.getsockname()[1]
        self._listen()

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
            if not self._is_open():
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
            self._bound = forwarding.bound_to(self.port)
        for one in self._sockets:
            forwarding.reset(one)
        self._sockets.clear()

    def _listen(self) -> None:
        self._bound.listen(128)
        self._listens = True
        forwarding.start(self._accept, self._bound, self._serve)

    def _is_open(self) -> bool:
        return self._mode not in (_Mode.CUT, _Mode.CLOSED)

    def _serve(self, client: socket.socket, _port: int) -> None:
        self._pass()
        if _has_gone(client):
            # It disconnected during a silence: the server never sees it.
            self._forget(client)
            return
        connect = functools.partial(
            socket.create_connection, ('127.0.0.1', self._target)
        )
        self._join(client, connect, [True], [False])

    def _pass(self, slow: bool = False) -> None:
        """Wait for the delay, and for the end of a silence."""
        with self._changed:
            if slow and self._delay:
                self._changed.wait(self._delay)
            self._changed.wait_for(lambda: self._mode is not _Mode.SILENT)


def _has_gone(client: socket.socket) -> bool:
    poll = select.poll()
    try:
        # A ValueError: another thread has closed it.
        poll.register(client, select.POLLRDHUP | select.POLLHUP)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True
