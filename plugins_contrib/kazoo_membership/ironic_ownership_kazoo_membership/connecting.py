"""A client of kazoo that connects in time and tells what it was granted.

The one place that touches kazoo's private side. As it comes, kazoo waits for
a connection as long as a session lasts, and for the server's first answer
too: a server that has just started, or a network that swallows packets, would
cost the session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kazoo import client as kazoo
from kazoo import security
from kazoo.handlers import threading as handler

LOG = logging.getLogger(__name__)

RECONNECT_DELAY = 1.0
"""Seconds between two tries to connect, at most."""


def client(
    hosts: str,
    seconds: float,
    patience: float,
    credentials: tuple[str, str] | None,
    granted: Callable[[float], None],
) -> kazoo.KazooClient:
    """Return a client that is not started.

    :param hosts: of the ensemble, as kazoo takes them.
    :param seconds: of the session.
    :param patience: seconds after which another server is tried.
    :param credentials: user and password, or ``None``.
    :param granted: called with the seconds that the server grants, whenever
        it does.
    """
    access: dict[str, Any] = {}
    if credentials is not None:
        access['auth_data'] = [('digest', ':'.join(credentials))]
        access['default_acl'] = [
            security.make_digest_acl(*credentials, all=True)
        ]
    made = kazoo.KazooClient(
        hosts=hosts,
        logger=LOG,
        timeout=seconds,
        handler=_Handler(patience),
        connection_retry={'max_tries': -1, 'max_delay': RECONNECT_DELAY},
        **access,
    )
    connection = made._connection
    connect, invoke = connection._connect, connection._invoke

    def connect_and_tell(*args: Any) -> Any:
        read_timeout, connect_timeout = connect(*args)
        # kazoo keeps what was granted to itself, but for this share of it.
        granted(read_timeout * 3 / 2 / 1000)
        return read_timeout, connect_timeout

    def invoke_in_time(timeout: float, *args: Any, **kwargs: Any) -> Any:
        return invoke(min(timeout, patience), *args, **kwargs)

    connection._connect = connect_and_tell
    connection._invoke = invoke_in_time
    return made


class _Handler(handler.SequentialThreadingHandler):  # type: ignore[misc]
    """Gives up connecting in time."""

    def __init__(self, patience: float) -> None:
        super().__init__()
        self._patience = patience

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Connect to one server."""
        return super().create_connection(
            *args, **{**kwargs, 'timeout': self._patience}
        )
