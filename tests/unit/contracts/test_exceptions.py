from __future__ import annotations

import inspect
import unittest

from ironic_ownership.contracts import exceptions, foreign_errors, reasons


class _Text(str):
    """A text that is cut to nothing less."""

    __slots__ = ()

    def __getitem__(self, key):
        return self


class _OddError(Exception):
    def __str__(self) -> str:
        return _Text(self.args[0])


class TestErrors(unittest.TestCase):
    def test_text_is_what_is_wrong_and_then_what_to_do(self) -> None:
        error = exceptions.IronicError('it broke', hint='Mend it')
        self.assertEqual('it broke. Mend it', str(error))
        self.assertEqual('it broke', str(exceptions.IronicError('it broke')))

    def test_plugin_error_names_group_name_distribution_and_cause(
        self,
    ) -> None:
        error = exceptions.PluginError('group', 'name', 'dist 1.0', 'cause')
        for part in ('group', "'name'", 'dist 1.0', 'cause'):
            self.assertIn(part, str(error))

    def test_configuration_error_lists_every_fault(self) -> None:
        error = exceptions.ConfigurationError(['one', 'two'])
        self.assertEqual('one; two', str(error))
        self.assertEqual(('one', 'two'), error.faults)

    def test_text_of_a_plugin_is_short_and_can_be_encoded(self) -> None:
        for text in (
            str(exceptions.PluginFaultError('\udc80' * 5_000_000)),
            str(exceptions.BackendUnavailableError('x', hint='\udc80' * 9999)),
            foreign_errors.described(ValueError('\udc80' * 5_000_000)),
            foreign_errors.text_of(_OddError('\udc80' * 5_000_000)),
        ):
            self.assertLess(len(text), 10_000)
            self.assertGreater(len(text.encode()), 500)

    def test_every_error_has_a_code_of_its_own(self) -> None:
        family = [
            error
            for _, error in inspect.getmembers(exceptions, inspect.isclass)
            if issubclass(error, exceptions.OwnershipError)
        ]
        self.assertEqual(len(family), len({error.code for error in family}))


class TestReasons(unittest.TestCase):
    def test_every_reason_has_a_phrase(self) -> None:
        for reason in reasons.Reason:
            self.assertTrue(reason.help, reason)
