"""The ``tooz`` backend on an etcd with users."""

from __future__ import annotations

import base64
import unittest
import uuid
from typing import Any

import requests

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case
from lab import etcd
from tests.functional.support import coordination, databases

PREFIX = 'tooz/groups/group/'
PASSWORD = 'p4ss/w:rd'
QUOTED = 'p4ss%2Fw%3Ard'
OWNERSHIP = f'ownership:{QUOTED}@'


def encoded(text: str) -> str:
    """Return text as etcd's gateway takes it."""
    return base64.b64encode(text.encode()).decode('ascii')


class TestEtcdUsers(unittest.TestCase):
    """A user whose rights are those of the documentation."""

    def setUp(self) -> None:
        super().setUp()
        self.server = etcd.Etcd(databases.temporary_directory('etcd'))
        self.addCleanup(self.server.stop)
        self.server.start()
        permission = {
            'permType': 'READWRITE',
            'key': encoded(PREFIX),
            'range_end': encoded(PREFIX[:-1] + '0'),
        }
        for path, body in (
            ('user/add', {'name': 'root', 'password': 'root'}),
            ('role/add', {'name': 'root'}),
            ('user/grant', {'user': 'root', 'role': 'root'}),
            ('user/add', {'name': 'ownership', 'password': PASSWORD}),
            ('role/add', {'name': 'members'}),
            ('role/grant', {'name': 'members', 'perm': permission}),
            ('user/grant', {'user': 'ownership', 'role': 'members'}),
        ):
            self.ask(path, body)
        # Members stay while users are introduced.
        self.member = self.build(OWNERSHIP)
        self.member.join('host1', uuid.uuid4().hex, backend_case.SETTINGS)
        self.ask('enable', {})
        self.assert_member_beats()

    def ask(self, path: str, body: Any, token: str = '') -> Any:
        """Send a request about users to the server."""
        answer = requests.post(
            f'http://127.0.0.1:{self.server.port}/v3/auth/{path}',
            json=body,
            headers={'Authorization': token} if token else {},
            timeout=30,
        )
        answer.raise_for_status()
        return answer.json()

    def build(self, user: str, group: str = 'group') -> ToozBackend:
        made = coordination.build(
            f'etcd3+http://{user}127.0.0.1:{self.server.port}', group, 60
        )
        self.addCleanup(made.close)
        return made

    def assert_member_beats(self) -> None:
        self.member.beat()
        self.assertEqual({'host1'}, self.member.view().hosts)

    def test_user_with_rights_for_one_group_is_enough(self) -> None:
        self.assertTrue(self.member.watch(60))
        self.member.advertise(backend_case.OTHER)
        self.member.leave()
        self.assertEqual(frozenset(), self.member.view().hosts)
        for user, group in (
            (OWNERSHIP, 'another'),
            ('ownership:hunter2@', 'group'),
            ('stranger:hunter2@', 'group'),
            ('', 'group'),
        ):
            with self.assertRaises(
                exceptions.BackendUnavailableError
            ) as caught:
                self.build(user, group).view()
            message = str(caught.exception)
            self.assertIn('Check user and password', message)
            self.assertIn(f'127.0.0.1:{self.server.port}', message)
            for secret in (PASSWORD, QUOTED, 'hunter2'):
                self.assertNotIn(secret, message)

    def test_token_that_the_server_forgot_is_renewed(self) -> None:
        self.server.restart()
        self.assert_member_beats()
        # A server that a client comes to later may not know it.
        for use in (self.member.beat, self.member.view):
            self.member._driver._login.token = 'unknown.1'
            use()
        self.assert_member_beats()

    def test_changed_password_is_used_by_the_next_process(self) -> None:
        root = self.ask('authenticate', {'name': 'root', 'password': 'root'})
        self.ask(
            'user/changepw',
            {'name': 'ownership', 'password': 'new'},
            root['token'],
        )
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            for _ in range(3):
                self.member.beat()
        self.assertIn('Check user and password', str(caught.exception))
        self.build('ownership:new@').view()
