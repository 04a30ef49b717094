"""A client of kazoo that connects in time and reports the granted session.

The only user of kazoo's private attributes. By default kazoo waits for a
connection, and for the server's first response, as long as a session lasts: a
server that has just started, or a network that drops packets, would cost the
session.
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

    :param hosts: of the ensemble, in the form that kazoo expects.
    :param seconds: of the session.
    :param patience: seconds after which another server is tried.
    :param credentials: user and password, or ``None``.
    :param granted: called with the seconds that the server grants, for every
        session.
    """
    access: dict[str, Any] = {}
    if credentials is not None:
        access['auth_data'] = [('digest', ':'.join(credentials))]
        access['default_acl'] = [
            security.make_digest_acl(*credentials, all=True)
        ]
    # Below this level, it logs the digest.
    LOG.setLevel(max(LOG.getEffectiveLevel(), logging.INFO))
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

    def connect_and_report(*args: Any) -> Any:
        read_timeout, connect_timeout = connect(*args)
        # kazoo does not return the granted time, only two thirds of it.
        granted(read_timeout * 3 / 2 / 1000)
        return read_timeout, connect_timeout

    def invoke_in_time(timeout: float, *args: Any, **kwargs: Any) -> Any:
        return invoke(min(timeout, patience), *args, **kwargs)

    connection._connect = connect_and_report
    connection._invoke = invoke_in_time
    return made


class _Handler(handler.SequentialThreadingHandler):  # type: ignore[misc]
    """Limits the time of connecting."""

    def __init__(self, patience: float) -> None:
        super().__init__()
        self._patience = patience

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Connect to one server."""
        return super().create_connection(
            *args, **{**kwargs, 'timeout': self._patience}
        )
