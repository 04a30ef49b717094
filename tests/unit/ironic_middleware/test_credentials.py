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


class CredentialsTest(unittest.TestCase):
    def requirement(
        self, *required: str, strategy: str = 'http_basic'
    ) -> Callable[[dict[str, Any]], bool]:
        refusal = credentials.requirement(required, strategy, None)
        return lambda request: refusal(request) is not None

    def test_header_is_needed_by_none_or_by_all(self) -> None:
        for required, expected in (((), False), (('*',), True)):
            needs = self.requirement(*required, strategy='noauth')
            self.assertIs(expected, needs(environ()))

    def test_user_of_basic_authentication(self) -> None:
        needs = self.requirement('user:nova')
        value = base64.b64encode(b'nova:pass:word').decode()
        for header, expected in (
            (f'Basic {value}', True),
            # Any white space precedes the credentials.
            (f' Basic\t{value} ', True),
            (f'Basic  {value}', True),
            (f'Basic \t{value}', True),
            (f'Basic {base64.b64encode(b"operator:nova").decode()}', False),
            # Ironic refuses it, or reads a name that this function can't.
            ('basic %%%', True),
            ('Bearer x', False),
            ('Basic', False),
        ):
            found = needs(environ(HTTP_AUTHORIZATION=header))
            self.assertIs(expected, found, header)
        self.assertFalse(needs(environ()))

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

    def refusal(self, found: dict[str, str], **request: str) -> int | None:
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
            refusal = credentials.requirement(
                ['user:nova', 'role: compute'], 'keystone', None
            )
            sent = environ(**request)
            before = dict(sent)
            result = refusal(sent)
        # Ironic validates the token itself.
        self.assertEqual(before, sent)
        return result and result.status

    def test_user_or_role(self) -> None:
        token = {'HTTP_X_AUTH_TOKEN': 'token'}
        other = {'HTTP_X_STORAGE_TOKEN': 'token'}
        for user, roles, headers, expected in (
            ('nova', 'admin,member', token, 403),
            ('nova', '', other, 403),
            ('other', 'admin,compute', token, 403),
            ('other', 'admin,Compute', token, 403),
            ('other', 'admin,member', token, None),
        ):
            found = {
                'HTTP_X_IDENTITY_STATUS': 'Confirmed',
                'HTTP_X_USER_NAME': user,
                'HTTP_X_ROLES': roles,
            }
            status = self.refusal(found, **headers)
            self.assertEqual(expected, status, (user, roles, headers))

    def test_token_that_cannot_be_validated_is_refused(self) -> None:
        invalid = {'HTTP_X_IDENTITY_STATUS': 'Invalid'}
        # As by Ironic: for another status no client authenticates again.
        for found in (invalid, {}):
            status = self.refusal(found, HTTP_X_AUTH_TOKEN='token')
            self.assertEqual(401, status)
        # Without one, Ironic answers.
        self.assertIsNone(self.refusal(invalid))
