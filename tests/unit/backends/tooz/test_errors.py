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
        hidden = etcd3gw.ConnectionFailedError('refused')
        self.assertEqual('', str(hidden))
        caused = OSError()
        caused.__cause__ = ValueError('the reason')
        for error, text in (
            (KeyError('result'), 'KeyError'),
            (OSError('gone'), 'OSError'),
            (ValueError(), 'ValueError'),
            (hidden, 'ConnectionFailedError: refused'),
            (caused, 'ValueError: the reason'),
            (ValueError('bad redis://:hunter2@h:1'), 'redis://:***@h:1'),
            # The hint names what was refused.
            (ValueError('WRONGPASS invalid username-password'), 'password'),
            (ValueError('[SSL: CERTIFICATE_VERIFY_FAILED]'), 'TLS'),
            (OSError('connection refused'), 'runs and can be reached'),
        ):
            message = self.message_of(error)
            self.assertIn(text, message)
            self.assertNotIn('hunter2', message)

    def test_errors_of_ours_pass(self) -> None:
        with (
            self.assertRaises(exceptions.NotMemberError),
            errors.translated(DRIVER),
        ):
            raise exceptions.NotMemberError('no member')
