"""Errors of our own HTTP service, for those who run commands."""

from __future__ import annotations

import json
import unittest

import requests

from ironic_ownership.clients import ownership


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
            'password of the cloud, or the --os-... options',
            str(caught.exception),
        )
        self.assertEqual('unauthenticated', caught.exception.code)
