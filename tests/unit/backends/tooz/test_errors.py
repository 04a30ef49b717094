from __future__ import annotations

import unittest

from etcd3gw import exceptions as etcd3gw

from ironic_ownership.backends.tooz import drivers, errors
from ironic_ownership.contracts import exceptions

DRIVER = drivers.find('redis://:hunter2@h:1', 20, 5)


class TestTranslation(unittest.TestCase):
    def message_of(self, error: Exception) -> str:
        with (
            self.assertRaises(exceptions.BackendUnavailableError) as caught,
            errors.translated(DRIVER),
        ):
            raise error
        self.assertIs(error, caught.exception.__cause__)
        self.assertNotEqual('', caught.exception.hint)
        return str(caught.exception)

    def test_every_error_of_a_library_means_no_answer(self) -> None:
        for error in (KeyError('result'), OSError('gone'), ValueError()):
            self.assertIn(type(error).__name__, self.message_of(error))

    def test_secret_in_an_error_of_a_library_is_masked(self) -> None:
        message = self.message_of(ValueError('bad URL redis://:hunter2@h:1'))
        self.assertNotIn('hunter2', message)
        self.assertIn('redis://:***@h:1', message)

    def test_hidden_text_of_an_etcd_error_is_shown(self) -> None:
        hidden = etcd3gw.ConnectionFailedError('refused')
        self.assertEqual('', str(hidden))
        self.assertIn(
            'ConnectionFailedError: refused', self.message_of(hidden)
        )

    def test_cause_of_an_error_without_text_is_shown(self) -> None:
        error = OSError()
        error.__cause__ = ValueError('the reason')
        self.assertIn('ValueError: the reason', self.message_of(error))

    def test_errors_of_ours_pass(self) -> None:
        with (
            self.assertRaises(exceptions.NotMemberError),
            errors.translated(DRIVER),
        ):
            raise exceptions.NotMemberError('no member')

    def test_hint_names_what_was_refused(self) -> None:
        for error, words in (
            (ValueError('WRONGPASS invalid username-password'), 'password'),
            (ValueError('[SSL: CERTIFICATE_VERIFY_FAILED]'), 'TLS'),
            (OSError('connection refused'), 'runs and can be reached'),
        ):
            self.assertIn(words, self.message_of(error))
