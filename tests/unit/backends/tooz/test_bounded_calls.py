from __future__ import annotations

import time
import unittest

from etcd3gw import exceptions as etcd3gw

from ironic_ownership.backends.tooz import bounded_calls, drivers
from ironic_ownership.contracts import exceptions

STORE = drivers.find('redis://:hunter2@h:1', 20, 5)


class TestAnswers(unittest.TestCase):
    def told(self, error: Exception) -> str:
        with (
            self.assertRaises(exceptions.BackendUnavailableError) as caught,
            bounded_calls.answers(STORE),
        ):
            raise error
        self.assertIs(error, caught.exception.__cause__)
        self.assertNotEqual('', caught.exception.hint)
        return str(caught.exception)

    def test_whatever_a_library_raises_means_no_answer(self) -> None:
        for error in (KeyError('result'), OSError('gone'), ValueError()):
            self.assertIn(type(error).__name__, self.told(error))

    def test_secret_in_what_a_library_says_is_masked(self) -> None:
        told = self.told(ValueError('bad URL redis://:hunter2@h:1'))
        self.assertNotIn('hunter2', told)
        self.assertIn('redis://:***@h:1', told)

    def test_what_etcd_says_is_told_although_its_errors_hide_it(self) -> None:
        hidden = etcd3gw.ConnectionFailedError('refused')
        self.assertEqual('', str(hidden))
        self.assertIn('ConnectionFailedError: refused', self.told(hidden))

    def test_cause_is_told_of_an_error_without_words(self) -> None:
        error = OSError()
        error.__cause__ = ValueError('the reason')
        self.assertIn('ValueError: the reason', self.told(error))

    def test_errors_of_ours_pass(self) -> None:
        with (
            self.assertRaises(exceptions.NotMemberError),
            bounded_calls.answers(STORE),
        ):
            raise exceptions.NotMemberError('no member')

    def test_time_that_is_up_means_no_answer(self) -> None:
        calls = bounded_calls.Asking(STORE)
        with self.assertRaises(exceptions.BackendUnavailableError) as caught:
            calls.within(0, lambda: time.sleep(0.2))
        self.assertIn('no answer within', str(caught.exception))
