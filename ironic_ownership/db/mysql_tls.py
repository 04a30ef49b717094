"""One TLS context for all connections of pymysql that configure no TLS.

Without options pymysql uses TLS if the server has it, and verifies nothing.
For that it reads all certificate authorities of the machine, again for each
connection: 20 ms of a processor, and a megabyte for as long as the connection
is open.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import sqlalchemy
from sqlalchemy import event

DRIVER = 'pymysql'

_lock = threading.Lock()


def share(engine: sqlalchemy.Engine) -> None:
    """Let the connections of an engine use the common context."""

    def connect(
        dialect: object, record: object, cargs: Any, cparams: Any
    ) -> object:
        return connection_class()(*cargs, **cparams)

    event.listen(engine, 'do_connect', connect)


@functools.cache
def connection_class() -> type[Any]:
    """Return the class of connections of pymysql, with a common context.

    Its parent creates the context, so it is as pymysql wants it.
    """
    from pymysql import connections

    base = connections.Connection
    common: list[Any] = []

    def create(self: Any, options: Any) -> Any:
        if options:
            return base._create_ssl_ctx(self, options)
        with _lock:
            if not common:
                common.append(base._create_ssl_ctx(self, options))
            return common[0]

    return type('Connection', (base,), {'_create_ssl_ctx': create})
