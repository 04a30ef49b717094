"""Users whose requests need a header."""

from __future__ import annotations

import base64
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership_middleware import credentials
from tests.unit.ironic_middleware.support import environ


def basic(text: str) -> dict[str, Any]:
    value = base64.b64encode(text.encode()).decode()
    return environ(HTTP_AUTHORIZATION=f'Basic {value}')


class CredentialsTest(unittest.TestCase):
    def requirement(
        self, *required: str, strategy: str = 'http_basic'
    ) -> Callable[[dict[str, Any]], bool]:
        return credentials.requirement(required, strategy, None)

    def test_without_names_no_header_is_needed(self) -> None:
        self.assertFalse(self.requirement(strategy='noauth')(environ()))

    def test_all_requests_need_one(self) -> None:
        needs = self.requirement('*', strategy='noauth')
        self.assertTrue(needs(environ()))

    def test_user_of_basic_authentication(self) -> None:
        needs = self.requirement('user:nova')
        self.assertTrue(needs(basic('nova:pass:word')))
        self.assertFalse(needs(basic('operator:nova')))
        self.assertFalse(needs(environ()))
        # Ironic refuses it, or reads a name that this function can't.
        self.assertTrue(needs(environ(HTTP_AUTHORIZATION='basic %%%')))
        self.assertFalse(needs(environ(HTTP_AUTHORIZATION='Bearer x')))
        self.assertFalse(needs(environ(HTTP_AUTHORIZATION='Basic')))

    def test_any_white_space_precedes_the_credentials(self) -> None:
        needs = self.requirement('user:nova')
        value = base64.b64encode(b'nova:password').decode()
        for space in ('\t', '  ', ' \t'):
            for edge in ('', ' '):
                text = f'{edge}Basic{space}{value}{edge}'
                self.assertTrue(needs(environ(HTTP_AUTHORIZATION=text)), text)

    def test_names_that_cannot_be_known_are_errors(self) -> None:
        for strategy, name in (
            ('noauth', 'user:nova'),
            ('http_basic', 'role:service'),
            ('keystone', 'nova'),
            ('keystone', 'user:'),
            ('keystone', 'project:x'),
        ):
            with self.assertRaises(exceptions.ConfigurationError):
                self.requirement(name, strategy=strategy)


class KeystoneTest(unittest.TestCase):
    """With a stand-in for keystonemiddleware; ``test_enforcement`` has it."""

    def needs(self, found: dict[str, str], **request: str) -> bool:
        def protocol(
            application: Any, conf: dict[str, Any]
        ) -> Callable[[dict[str, Any], Any], Any]:
            self.assertTrue(conf['delay_auth_decision'])

            def call(request: dict[str, Any], start: Any) -> Any:
                request.update(found)
                return application(request, start)

            return call

        with mock.patch(
            'keystonemiddleware.auth_token.AuthProtocol', protocol
        ):
            needs = credentials.requirement(
                ['user:nova', 'role:compute'], 'keystone', None
            )
            sent = environ(**request)
            before = dict(sent)
            result = needs(sent)
        # Ironic validates the token itself.
        self.assertEqual(before, sent)
        return result

    def test_user_or_role(self) -> None:
        def confirmed(user: str, roles: str) -> bool:
            return self.needs(
                {
                    'HTTP_X_IDENTITY_STATUS': 'Confirmed',
                    'HTTP_X_USER_NAME': user,
                    'HTTP_X_ROLES': roles,
                },
                HTTP_X_AUTH_TOKEN='token',
            )

        self.assertTrue(confirmed('nova', 'admin,member'))
        self.assertTrue(confirmed('other', 'admin,compute'))
        self.assertFalse(confirmed('other', 'admin,member'))

    def test_each_header_with_a_token_counts(self) -> None:
        found = {
            'HTTP_X_IDENTITY_STATUS': 'Confirmed',
            'HTTP_X_USER_NAME': 'nova',
        }
        for name in ('HTTP_X_AUTH_TOKEN', 'HTTP_X_STORAGE_TOKEN'):
            self.assertTrue(self.needs(found, **{name: 'token'}), name)

    def test_without_a_token_ironic_answers(self) -> None:
        self.assertFalse(self.needs({'HTTP_X_IDENTITY_STATUS': 'Invalid'}))

    def test_token_that_cannot_be_validated_is_refused(self) -> None:
        self.assertTrue(
            self.needs(
                {'HTTP_X_IDENTITY_STATUS': 'Invalid'},
                HTTP_X_AUTH_TOKEN='token',
            )
        )
