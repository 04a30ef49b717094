"""Repeats Ironic's answers for as long as its database has not changed.

Several services that read the same nodes every few seconds would keep a
processor busy with Ironic alone: a node of a detailed list costs it about
15 ms. The same question has the same answer until its database changes, which
SQLite tells by a number. Only the time of an answer (``Date``) is new.
"""

from __future__ import annotations

import pathlib
import sqlite3
import threading

from lab import http_server, process

_TIMEOUT = 180.0
_OF_ONE_REQUEST = 'x-openstack-request-id'


class IronicCache(http_server.Server):
    """A server in front of an Ironic on SQLite.

    :param port: of Ironic, on 127.0.0.1.
    :param database: of Ironic.
    :ivar asked: requests of clients.
    :ivar passed_on: those of them that Ironic has answered.
    """

    def __init__(self, port: int, database: pathlib.Path) -> None:
        self.asked = self.passed_on = 0
        self._behind = port
        self._lock = threading.Lock()
        self._version = -1
        self._answers: dict[object, http_server.Answer] = {}
        self._asking: dict[object, threading.Lock] = {}
        self._database = sqlite3.connect(
            f'file:{database}?mode=ro',
            uri=True,
            timeout=_TIMEOUT,
            check_same_thread=False,
        )
        super().__init__(self._serve, port=process.free_port())

    def stop(self) -> None:
        """End the server."""
        super().stop()
        self._database.close()

    def _serve(self, request: http_server.Request) -> http_server.Answer:
        if request.method != 'GET':
            return self._ask(request)
        headers = http_server.lasting(request.headers.items())
        same = [one for one in headers if one[0] != _OF_ONE_REQUEST]
        key = request.path, tuple(sorted(same))
        with self._lock:
            self._check_version()
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # the others wait for the answer to the first
            with self._lock:
                self.asked += 1
                version = self._check_version()
                known = self._answers.get(key)
            # What is known is repeated only while Ironic could say it.
            if known is not None and process.answers_tcp(self._behind):
                return known
            answer = self._ask(request)
            with self._lock:
                self.passed_on += 1
                if self._check_version() == version:
                    self._answers[key] = answer
        return answer

    def _ask(self, request: http_server.Request) -> http_server.Answer:
        target = f'127.0.0.1:{self._behind}'
        return http_server.pass_on(request, target, _TIMEOUT)

    def _check_version(self) -> int:
        """Drop what is known, if the database has changed."""
        ((version,),) = self._database.execute('PRAGMA data_version')
        if version != self._version:
            self._version = version
            self._answers.clear()
            self._asking.clear()
        return self._version
