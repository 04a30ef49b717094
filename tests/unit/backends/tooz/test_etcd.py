from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

import requests
import requests.adapters

from ironic_ownership.backends.tooz import etcd

USER = ('ownership', 'p4ss')


class TestServers(unittest.TestCase):
    def test_late_failure_of_the_old_server_does_not_lead_back(self) -> None:
        servers = etcd.Servers(['a:1', '[::1]:2', 'c', '[::1]'])
        for failed, following in (
            ('a:1', '[::1]:2'),
            ('a:1', '[::1]:2'),
            ('[::1]:2', 'c:2379'),
            ('c:2379', '[::1]:2379'),
            ('[::1]:2379', 'a:1'),
        ):
            servers.turn_from(failed)
            self.assertEqual(following, servers.current)


def answer(status: int, body: Any = None) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made.raw = mock.Mock(_original_response=None)
    made._content = json.dumps(body or {}).encode()
    return made


class TestAdapter(unittest.TestCase):
    def setUp(self) -> None:
        self.sent: list[tuple[str, str | None]] = []
        self.answers: list[requests.Response | Exception] = []
        patch = mock.patch.object(
            requests.adapters.HTTPAdapter, 'send', self.send
        )
        patch.start()
        self.addCleanup(patch.stop)
        self.servers = etcd.Servers(['a:1', 'b:2', 'c:3'])

    def send(
        self, request: requests.PreparedRequest, **_: Any
    ) -> requests.Response:
        self.sent.append(
            (str(request.url), request.headers.get('Authorization'))
        )
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def ask(
        self,
        *answers: requests.Response | Exception,
        login: etcd.Login | None = None,
        patience: float = 60,
    ) -> requests.Response:
        self.sent.clear()
        self.answers[:] = answers
        session = requests.Session()
        session.mount('http://', etcd.Adapter(self.servers, login, patience))
        found = session.post('http://a:1/v3/kv/range', json={'key': 'x'})
        self.assertEqual([], self.answers)
        return found

    def hosts(self) -> list[str]:
        return [url.split('/')[2] for url, _ in self.sent]

    def test_next_server_is_asked_in_the_same_call(self) -> None:
        self.ask(requests.ConnectTimeout(), answer(503), answer(200))
        self.assertEqual(['a:1', 'b:2', 'c:3'], self.hosts())
        self.ask(answer(200))
        self.assertEqual(['c:3'], self.hosts())

    def test_each_server_is_asked_once(self) -> None:
        with self.assertRaises(requests.ConnectionError):
            self.ask(*[requests.ConnectionError()] * 3)
        self.assertEqual(503, self.ask(*[answer(503)] * 3).status_code)

    def test_no_server_is_asked_when_the_time_is_up(self) -> None:
        with self.assertRaises(requests.ReadTimeout):
            self.ask(requests.ReadTimeout(), patience=-1)
        self.ask(answer(200), patience=-1)
        self.assertEqual(['b:2'], self.hosts())

    def test_refusal_is_an_answer(self) -> None:
        self.assertEqual(403, self.ask(answer(403)).status_code)

    def test_one_login_serves_all_clients(self) -> None:
        login = etcd.Login(USER)
        self.ask(answer(200, {'token': 't.1'}), answer(200), login=login)
        self.assertEqual(
            [
                ('http://a:1/v3/auth/authenticate', None),
                ('http://a:1/v3/kv/range', 't.1'),
            ],
            self.sent,
        )
        self.ask(answer(200), login=login)
        self.assertEqual([('http://a:1/v3/kv/range', 't.1')], self.sent)

    def test_forgotten_token_is_renewed_at_the_same_server(self) -> None:
        login = etcd.Login(USER)
        login.token = 'old'
        self.ask(
            answer(401, {'error': 'etcdserver: invalid auth token'}),
            answer(200, {'token': 'new'}),
            answer(200),
            login=login,
        )
        self.assertEqual(['old', None, 'new'], [t for _, t in self.sent])
        self.assertEqual(['a:1'] * 3, self.hosts())

    def test_refused_login_is_the_answer(self) -> None:
        refusal = answer(400, {'error': 'invalid user ID or password'})
        login = etcd.Login(USER)
        self.assertIs(refusal, self.ask(refusal, login=login))
        self.assertIsNone(login.token)

    def test_etcd_without_users_is_logged_once_until_it_has_them(self) -> None:
        off = {'error': 'etcdserver: authentication is not enabled'}
        login = etcd.Login(USER)
        with self.assertLogs('ironic_ownership', 'WARNING') as logs:
            self.ask(answer(400, off), answer(200), login=login)
            self.ask(answer(200), login=login)
        self.assertEqual(1, len(logs.output))
        self.ask(
            answer(400, {'error': 'etcdserver: user name is empty'}),
            answer(200, {'token': 't.1'}),
            answer(200),
            login=login,
        )
        self.assertEqual('t.1', login.token)
