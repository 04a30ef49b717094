"""HTTP servers on loopback, in threads of this process."""

from __future__ import annotations

import contextlib
import functools
import http.client
import http.server
import ssl
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lab.certificates import Certificates

_OF_ONE_CONNECTION = frozenset(
    (
        *('connection', 'content-length', 'date', 'host', 'keep-alive'),
        *('server', 'transfer-encoding'),
    )
)
"""Headers of one connection or one moment."""

_POLL = 0.02
"""Seconds that the end of a server may take."""


class Request(NamedTuple):
    """The request of a client.

    :ivar path: with the query.
    :ivar headers: by their names in lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Headers = Collection[tuple[str, str]]
Answer = tuple[int, Headers, bytes]
"""Status, headers and body. With a length of its own among the headers, the
connection ends after it."""


class Server:
    """One server, which serves until it is stopped.

    :param answer: answers each request. After an error of a connection in it
        the client's connection ends without an answer.
    :param port: on 127.0.0.1; any by default.
    :param certificate: lets it speak TLS.
    :ivar linger: called after each answer, before its connection ends.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        *,
        port: int = 0,
        certificate: Certificates | None = None,
    ) -> None:
        self.linger: Callable[[], object] = lambda: None
        self._server = _Threads(
            ('127.0.0.1', port), functools.partial(_Handler, self, answer)
        )
        self.port = self._server.server_port
        scheme = 'http'
        if certificate is not None:
            scheme = 'https'
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate.both)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True
            )
        self.url = f'{scheme}://127.0.0.1:{self.port}'
        threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), daemon=True
        ).start()

    def stop(self) -> None:
        """Accept no more connections."""
        self._server.shutdown()
        self._server.server_close()


class _Threads(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *where: Any) -> None:
        # Clients are killed and cut off, and so are servers behind.
        errors = OSError | http.client.HTTPException
        if not isinstance(sys.exc_info()[1], errors):
            super().handle_error(*where)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    wbufsize = -1

    def __init__(
        self,
        server: Server,
        answer: Callable[[Request], Answer],
        *connection: Any,
    ) -> None:
        self._of, self._answer = server, answer
        super().__init__(*connection)

    def do_GET(self) -> None:
        named = {name.lower(): text for name, text in self.headers.items()}
        body = self.rfile.read(int(named.get('content-length', 0)))
        status, headers, body = self._answer(
            Request(self.command, self.path, named, body)
        )
        self.send_response(status)
        if 'Content-Length' in dict(headers):
            self.close_connection = True
        else:
            headers = [*headers, ('Content-Length', str(len(body)))]
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self._of.linger()

    do_DELETE = do_HEAD = do_PATCH = do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def lasting(headers: Headers) -> list[tuple[str, str]]:
    """Return headers without those of one connection or one moment."""
    return [one for one in headers if one[0].lower() not in _OF_ONE_CONNECTION]


def pass_on(request: Request, target: str, timeout: float) -> Answer:
    """Let another server answer.

    :param target: its address and port.
    :raises OSError: or an error of ``http.client``, if it does not.
    """
    connection = http.client.HTTPConnection(target, timeout=timeout)
    with contextlib.closing(connection):
        connection.request(
            request.method,
            request.path,
            request.body or None,
            dict(lasting(request.headers.items())),
        )
        answer = connection.getresponse()
        return answer.status, lasting(answer.getheaders()), answer.read()
