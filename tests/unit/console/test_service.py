"""Client of the HTTP service, with connections that all persons share."""

from __future__ import annotations

import http.server
import threading
import unittest

from ironic_ownership_console.service import Service


class ServiceTest(unittest.TestCase):
    def test_cookie_of_an_answer_is_not_sent_for_another_person(self) -> None:
        sent: list[str | None] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sent.append(self.headers.get('Cookie'))
                self.send_response(200)
                self.send_header('Set-Cookie', 'session=of-one; Path=/')
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'{}')

            def log_message(self, *args: object) -> None:
                pass

        server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        ).start()
        service = Service(f'http://127.0.0.1:{server.server_port}')
        for token in ('one', 'two'):
            service.get(token, '/v1/overview')
        self.assertEqual([None, None], sent)
