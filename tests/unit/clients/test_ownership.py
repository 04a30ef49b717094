"""Errors of our own HTTP service, for those who run commands."""

from __future__ import annotations

import argparse
import json
import unittest
from unittest import mock

import requests
from keystoneauth1 import exceptions as ksa
from keystoneauth1 import session

from ironic_ownership.clients import ownership
from tests.unit import configurations


class RefusedCredentialsTest(unittest.TestCase):
    def test_operator_is_advised_in_terms_of_the_options(self) -> None:
        answer = requests.Response()
        answer.status_code = 401
        error = {
            'code': 'unauthenticated',
            'message': 'Unauthorized',
            'hint': 'Send a valid token in the header X-Auth-Token',
        }
        answer._content = json.dumps({'error': error}).encode()
        with self.assertRaises(ownership.RemoteError) as caught:
            ownership._body_of(answer)
        self.assertEqual(
            'the HTTP service does not accept the credentials. Check user and '
            'password of the cloud, or the --os-... options. If Keystone '
            'accepts them, compare its clock, and its URL, with those of the '
            'service',
            str(caught.exception),
        )
        self.assertEqual('unauthenticated', caught.exception.code)


class CloudTest(unittest.TestCase):
    def test_odd_value_is_an_error_of_the_file(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument('--os-cloud')
        for line, text in (
            ('api_timeout: abc', "cannot be used: could not .* 'abc'"),
            ('auth: 3', 'value of another form'),
        ):
            with (
                configurations.cloud(line),
                self.assertRaisesRegex(ownership.ConnectionOptionsError, text),
            ):
                ownership.connect(parser.parse_args(['--os-cloud', 'one']))

    def test_options_of_an_odd_cloud_are_an_error_as_well(self) -> None:
        with (
            configurations.cloud('auth: 3'),
            self.assertRaises(ownership.ConnectionOptionsError),
        ):
            ownership.add_arguments(
                argparse.ArgumentParser(), ['--os-cloud', 'one']
            )


def broken(error: Exception) -> ksa.UnknownConnectionError:
    return ksa.UnknownConnectionError('Unexpected exception', error)


class OutageTest(unittest.TestCase):
    def test_server_in_front_that_answers_is_not_taken_for_another_one(
        self,
    ) -> None:
        answer = requests.Response()
        answer.url = 'http://proxy:6395/v1/services?limit=1'
        answer.status_code, answer._content = 503, b'<html>'
        with self.assertRaises(ownership.ConnectionOptionsError) as caught:
            ownership._body_of(answer)
        self.assertIn(
            'behind http://proxy:6395/v1/services does not answer: 503',
            str(caught.exception),
        )

    def test_keystone_that_fails_is_not_taken_for_wrong_credentials(
        self,
    ) -> None:
        for error, text in (
            (ksa.ServiceUnavailable('down'), 'Keystone does not answer: down'),
            (ksa.Unauthorized('bad'), 'Keystone refuses the credentials: bad'),
            (broken(requests.exceptions.ChunkedEncodingError('x')), 'runs'),
            (broken(requests.exceptions.InvalidURL('x')), 'cannot be used'),
        ):
            self.assertIn(text, str(ownership._unanswered(error)))

    def test_answer_that_is_too_deep_is_of_another_service(self) -> None:
        answer = requests.Response()
        answer.status_code, answer._content = 200, b'[' * 100_000
        with self.assertRaises(ownership.ConnectionOptionsError):
            ownership._body_of(answer)


class TimeoutTest(unittest.TestCase):
    def test_request_ends_unless_the_operator_wants_it_to_wait(self) -> None:
        parser = argparse.ArgumentParser()
        argv = ['--os-cloud', 'one']
        for line, seconds in (('', 300), ('api_timeout: 7', 7)):
            with configurations.cloud(line):
                if not line:
                    ownership.add_arguments(parser, argv)
                client = ownership.connect(parser.parse_args(argv))
            self.addCleanup(client.close)
            self.assertEqual(seconds, client._session.timeout)

    def test_request_of_openstackclient_ends(self) -> None:
        manager = mock.Mock(session=session.Session())
        client = ownership.over_session(manager)
        self.addCleanup(client.close)
        self.assertEqual(300, client._session.timeout)
