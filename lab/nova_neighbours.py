"""Stand-ins for Neutron and Glance: only what Nova insists on at a boot.

They are no Neutron and no Glance. Servers are booted without a network, from
the one image that exists; nothing is stored.
"""

from __future__ import annotations

import http.server
import json
import threading
import urllib.parse
from typing import Any, Self

IMAGE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
"""UUID of the image."""

_IMAGE: dict[str, Any] = {
    'id': IMAGE,
    'name': 'lab',
    'status': 'active',
    'visibility': 'public',
    'owner': 'admin',
    'protected': False,
    'container_format': 'bare',
    'disk_format': 'qcow2',
    'size': 1,
    'checksum': '0' * 32,
    'min_disk': 0,
    'min_ram': 0,
    'tags': [],
    'created_at': '2020-01-01T00:00:00Z',
    'updated_at': '2020-01-01T00:00:00Z',
    'file': f'/v2/images/{IMAGE}/file',
    'schema': '/v2/schemas/image',
    'self': f'/v2/images/{IMAGE}',
}
_ANSWERS: dict[str, Any] = {
    f'/v2/images/{IMAGE}': _IMAGE,
    '/v2/schemas/image': {
        'name': 'image',
        'properties': {name: {} for name in _IMAGE},
        'additionalProperties': True,
    },
}
_NEUTRON = '/v2.0/'


class Neighbours:
    """One HTTP server for both, in threads of this process.

    :ivar unknown: requests to which it had no answer, for failing tests.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        neighbours = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                status, body = neighbours.answer(self.command, self.path)
                data = json.dumps(body).encode()
                length = int(self.headers.get('Content-Length') or 0)
                self.rfile.read(length)
                self.send_response(status)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), Handler
        )
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        self._is_serving = False

    def start(self) -> Self:
        """Serve until :meth:`stop`."""
        self._is_serving = True
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        ).start()
        return self

    def stop(self) -> None:
        """Stop serving, if it was started."""
        # Without a start it would wait for the end of what never began.
        if self._is_serving:
            self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, url: str) -> tuple[int, Any]:
        """Return the status and the body of the answer to a request."""
        path = urllib.parse.urlsplit(url).path
        if method == 'GET':
            if path in _ANSWERS:
                return 200, _ANSWERS[path]
            if path.startswith(_NEUTRON):
                # There is no network, no port and no extension.
                kind = path.removeprefix(_NEUTRON).split('.')[0]
                return 200, {kind.replace('-', '_'): []}
        self.unknown.append(f'{method} {url}')
        return 404, {'message': f'the stand-in has no {path}'}
