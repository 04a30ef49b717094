"""Client of the HTTP service, with connections that all persons share."""

from __future__ import annotations

import unittest

from ironic_ownership_console.service import Service
from lab import http_server


class ServiceTest(unittest.TestCase):
    def test_cookie_of_an_answer_is_not_sent_for_another_person(self) -> None:
        sent: list[str | None] = []

        def answer(request: http_server.Request) -> http_server.Answer:
            sent.append(request.headers.get('cookie'))
            return 200, [('Set-Cookie', 'session=of-one; Path=/')], b'{}'

        server = http_server.Server(answer)
        self.addCleanup(server.stop)
        service = Service(server.url)
        for token in ('one', 'two'):
            service.get(token, '/v1/overview')
        self.assertEqual([None, None], sent)
