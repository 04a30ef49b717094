"""Real Ironics for tests, and a proxy that writes down what they are asked."""

from __future__ import annotations

import contextlib
import functools
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping

import testtools

from lab import certificates, http_server, ironic, ironic_cache
from lab.enrolment import Enrolment
from lab.http_server import Answer, Request
from tests.functional.support import databases
from tests.unit.clients import recorded_http

open_ironic = recorded_http.open_ironic


@functools.cache
def _enrolment() -> Enrolment:
    """Return the nodes of this test process's Ironic."""
    build = functools.partial(ironic.Ironic, preloads=True)
    return Enrolment(databases.started(build, 'ironic'), repeatable=True)


@functools.cache
def _cache() -> ironic_cache.IronicCache:
    """Return what repeats the answers of this test process's Ironic."""
    server = _enrolment().server
    return ironic_cache.IronicCache(server.port, server.database)


class IronicTestCase(testtools.TestCase):
    """Tests of one process share a real Ironic, without nodes at first."""

    server: ironic.Ironic
    enrolment: Enrolment

    @property
    def endpoint(self) -> str:
        """URL for programs that read the same nodes again and again."""
        return f'http://127.0.0.1:{_cache().port}'

    def setUp(self) -> None:
        super().setUp()
        self.enrolment = _enrolment()
        self.server = self.enrolment.server
        self.server.start()
        self.enrolment.clear()


class RecordingProxy(http_server.Server):
    """Hands requests on to an Ironic and keeps them.

    It can stand before any other HTTP server, too, and terminate TLS. An
    Ironic that does not answer looks to the client as it does to the
    proxy: the connection ends without an answer.

    :ivar requests: (path, query as pairs, headers) of each request.
    :ivar before: called with the number of a list request, from 1, before
        it is handed on.
    """

    def __init__(
        self,
        target: str,
        certificate: certificates.Certificates | None = None,
    ) -> None:
        self._target = urllib.parse.urlsplit(target).netloc
        self.requests: list[
            tuple[str, list[tuple[str, str]], Mapping[str, str]]
        ] = []
        self.before: Callable[[int], None] = lambda number: None
        super().__init__(self._hand_on, certificate=certificate)

    @property
    def lists(self) -> list[list[tuple[str, str]]]:
        """The queries of the requests for lists of nodes.

        A request for the node of one instance is none.
        """
        return [
            query
            for path, query, _ in self.requests
            if path == '/v1/nodes' and 'instance_uuid' not in dict(query)
        ]

    def _hand_on(self, request: Request) -> Answer:
        url = urllib.parse.urlsplit(request.path)
        query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        self.requests.append((url.path, query, request.headers))
        if url.path == '/v1/nodes':
            self.before(len(self.lists))
        return self._ask(request)

    def _ask(self, request: Request) -> Answer:
        return http_server.pass_on(request, self._target, 60)


class HoldingProxy(RecordingProxy):
    """Holds some requests back, as an Ironic does that takes its time."""

    _paths: frozenset[str] = frozenset()

    @contextlib.contextmanager
    def holding(self, *paths: str) -> Iterator[threading.Event]:
        """Hold all requests for some paths back until the end of the context.

        :yields: set when one has come for each path.
        """
        self._asked, self._go_on = threading.Event(), threading.Event()
        self._missing, self._paths = {*paths}, frozenset(paths)
        try:
            yield self._asked
        finally:
            self._paths = frozenset()
            self._go_on.set()

    def _ask(self, request: Request) -> Answer:
        path = urllib.parse.urlsplit(request.path).path
        if path in self._paths:
            go_on = self._go_on
            self._missing.discard(path)
            if not self._missing:
                self._asked.set()
            go_on.wait()
        return super()._ask(request)
