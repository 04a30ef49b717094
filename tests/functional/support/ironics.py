"""Real Ironics for tests, and a proxy that writes down what they are asked."""

from __future__ import annotations

import contextlib
import functools
import http.client
import http.server
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator

import testtools
from oslo_config import cfg

from ironic_ownership.clients import options as client_options
from ironic_ownership.clients.ironic import client
from lab import certificates, ironic, ironic_cache
from lab.enrolment import Enrolment
from tests.functional.support import databases

Answer = tuple[int, list[tuple[str, str]], bytes]


def configured(url: str, **options: object) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    client_options.register_opts(conf, client_options.IRONIC)
    conf.set_override('auth_type', 'none', 'ironic')
    conf.set_override('endpoint_override', url, 'ironic')
    for name, value in options.items():
        conf.set_override(name, value, 'ironic')
    return conf


def open_ironic(url: str, **options: object) -> client.IronicClient:
    return client_options.open_ironic(configured(url, **options))


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


class RecordingProxy:
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
            tuple[str, list[tuple[str, str]], dict[str, str]]
        ] = []
        self.before: Callable[[int], None] = lambda number: None
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                with contextlib.suppress(ConnectionError):  # who asked is gone
                    proxy.hand_on(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), Handler
        )
        self._server.daemon_threads = True
        scheme = 'http'
        if certificate is not None:
            scheme = 'https'
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate.both)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True
            )
        self.url = f'{scheme}://127.0.0.1:{self._server.server_port}'
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

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

    def hand_on(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        url = urllib.parse.urlsplit(handler.path)
        query = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        headers = {k.lower(): v for k, v in handler.headers.items()}
        self.requests.append((url.path, query, headers))
        if url.path == '/v1/nodes':
            self.before(len(self.lists))
        try:
            status, headers, body = self._ask(handler)
        except (OSError, http.client.HTTPException):
            handler.close_connection = True
            return
        handler.send_response(status)
        for name, value in headers:
            if name.lower() not in ('content-length', 'date', 'server'):
                handler.send_header(name, value)
        handler.send_header('Content-Length', str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _ask(self, handler: http.server.BaseHTTPRequestHandler) -> Answer:
        upstream = http.client.HTTPConnection(self._target, timeout=60)
        try:
            kept = {
                name: value
                for name, value in handler.headers.items()
                if name.lower() not in ('host', 'connection')
            }
            body = self._body(handler)
            upstream.request(handler.command, handler.path, body, kept)
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _body(
        self, handler: http.server.BaseHTTPRequestHandler
    ) -> bytes | None:
        length = int(handler.headers.get('Content-Length') or 0)
        return handler.rfile.read(length) if length else None


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

    def _body(
        self, handler: http.server.BaseHTTPRequestHandler
    ) -> bytes | None:
        # A client may be stopped between its header and its body: it has
        # asked when both are here.
        body = super()._body(handler)
        path = urllib.parse.urlsplit(handler.path).path
        if path in self._paths:
            go_on = self._go_on
            self._missing.discard(path)
            if not self._missing:
                self._asked.set()
            go_on.wait()
        return body
