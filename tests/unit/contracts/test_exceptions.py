from __future__ import annotations

import importlib
import inspect
import pkgutil
import unittest

import ironic_ownership
from ironic_ownership.contracts import exceptions, reasons, refusals, texts


class _Text(str):
    """A text that is cut to nothing less."""

    __slots__ = ()

    def __getitem__(self, key):
        return self


class _OddError(Exception):
    def __str__(self) -> str:
        return _Text(self.args[0])


class TestErrors(unittest.TestCase):
    def test_configuration_error_lists_every_fault(self) -> None:
        error = exceptions.ConfigurationError(['one', 'two'])
        self.assertEqual('one; two', str(error))

    def test_text_of_a_plugin_is_short_and_can_be_encoded(self) -> None:
        for text in (
            str(exceptions.PluginFaultError('\udc80' * 5_000_000)),
            str(exceptions.BackendUnavailableError('x', hint='\udc80' * 9999)),
            texts.described(ValueError('\udc80' * 5_000_000)),
            texts.text_of(_OddError('\udc80' * 5_000_000)),
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


_ENDS = {
    # HTTP status, exit code
    (400, 2): 'invalid_request',
    (403, 1): 'forbidden',
    (404, 1): 'not_found',
    (415, 1): 'unsupported_media_type',
    (409, 3): 'allocation_conflict allocation_in_use fenced gates_failed '
    'no_match not_enforced not_owner other_instance out_of_service '
    'reservation_conflict '
    'service_refused trial_decided wrong_scope',
    (409, 1): 'impossible_scenario provider_in_use service_in_use standby',
    (503, 1): 'backend_fault backend_unavailable busy ironic_unavailable '
    'membership not_member notifications_unavailable placement_unavailable '
    'provider_busy records_unavailable schema source',
    (503, 4): 'reservation_unfinished',
    (502, 1): 'ironic ironic_too_old no_provider placement placement_refused',
    (500, 1): 'configuration connection error plugin plugin_fault '
    'policy_settings records',
    (500, 2): 'usage',
}
"""What programs may rely on; a code is here once."""


_ROOMS = ('api', 'cli', 'clients', 'engine', 'web')


def _kinds() -> list[type[exceptions.OwnershipError]]:
    for module in pkgutil.walk_packages(
        ironic_ownership.__path__, 'ironic_ownership.'
    ):
        room = module.name.split('.')[1]
        if room in _ROOMS and not module.name.endswith('.wsgi'):
            importlib.import_module(module.name)
    kinds = [exceptions.OwnershipError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [k for k in kinds if k.__module__.startswith('ironic_ownership.')]


class TestEnds(unittest.TestCase):
    def test_each_code_has_one_status_and_one_exit_code(self) -> None:
        expected = {
            code: ends
            for ends, codes in _ENDS.items()
            for code in codes.split()
        }
        found = {
            (kind.code, kind.http_status, int(kind.exit_code))
            for kind in _kinds()
        }
        self.assertEqual(
            sorted((code, *ends) for code, ends in expected.items()),
            sorted(found),
        )
        for code, (_, exit_code) in expected.items():
            self.assertEqual(exit_code, refusals.exit_code_of(code))
        self.assertEqual(1, refusals.exit_code_of('of a later release'))
