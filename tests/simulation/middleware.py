"""Ironic's API behind the middleware, which is the shipped one.

A request travels to Ironic, whose own process asks the records. Only the pool
of threads of the middleware is left out: one request is one simulated thread.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ironic_ownership.db.connection import Database
from ironic_ownership_middleware import application, records
from tests.simulation.links import Server
from tests.simulation.loop import Loop, Process
from tests.unit.ironic_middleware.support import KEY, environ

__all__ = ('KEY', 'Enforced')


class _Records(records.Records):
    def __init__(self, database: Database) -> None:
        self._lock, self._database = threading.Lock(), database

    def read(self, *asked: Any) -> records.Answer:
        answer: concurrent.futures.Future[records.Answer]
        answer = concurrent.futures.Future()
        self._read(answer, *asked)
        return answer.result()


class Enforced:
    """Ironic's API as programs call it.

    :param process: of Ironic.
    :param admitted: receives service, node, epoch, and the time at which the
        request had arrived, of each that reaches Ironic.
    :ivar answers: how often each came, by the code of the refusal.
    """

    def __init__(
        self,
        loop: Loop,
        process: Process,
        server: Server,
        database: Database,
        admitted: Callable[[str, str, int, float], None],
    ) -> None:
        self._loop, self._process, self._server = loop, process, server
        self._admitted = admitted
        self.answers = collections.Counter[str]()
        self._middleware = application.Ownership(
            self._application,
            _Records(database),
            [KEY],
            count=self._count,
            clock=process.wall_clock,
        )

    def _count(self, name: str) -> None:
        self.answers[name] += 1

    def send(self, permission: Any) -> None:
        """Send a request under a permission, valid or not.

        :raises IronicUnavailableError: if it is lost.
        """
        url = f'/v1/nodes/{permission._uuid}'
        (header,) = permission.headers('PATCH', url).values()
        self._server.request('ironic', 'PATCH')
        claim = permission.host, permission._uuid, permission.epoch
        request = environ(url=url, header=header, claim=claim)
        self._loop.spawn(
            self._process, 'request', functools.partial(self._answer, request)
        )

    def _answer(self, request: dict[str, Any]) -> None:
        request['arrived'] = self._loop.now
        self._middleware(request, lambda *_: None)

    def _application(self, request: Any, start: Any) -> Iterable[bytes]:
        self._count('admitted')
        self._admitted(*request['claim'], request['arrived'])
        return []
