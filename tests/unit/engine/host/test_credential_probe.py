from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import credential_probe
from tests.contract.suites import fake_bare_metal

REFUSED = exceptions.IronicError('Ironic answered 403')


class TestProbe(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = fake_bare_metal.FakeBareMetal()
        self.conditions = conditions.Conditions()

    def probe(
        self,
        code: str = 'credential_blind',
        *,
        trusted: bool = False,
        **errors: Exception,
    ) -> str | None:
        for name, error in errors.items():
            patched = mock.patch.object(self.ironic, name, side_effect=error)
            patched.start()
            self.addCleanup(patched.stop)
        credential_probe.probe(self.ironic, self.conditions, trusted=trusted)
        (found,) = self.conditions.of_loops([Loop.CREDENTIAL])
        if found.code is not None:
            self.assertEqual(code, found.code)
        return found.error or None

    def test_credential_that_reads_everything_is_fine(self) -> None:
        self.assertIsNone(self.probe())

    def test_blind_credential_is_one_error_that_names_the_role(self) -> None:
        """Also without any node."""
        with self.assertLogs('ironic_ownership.engine', 'ERROR') as logs:
            error = self.probe(shard_counts=REFUSED, conductors=REFUSED)
        self.assertEqual(1, len(logs.records))
        for word in ('/v1/shards', '/v1/conductors', '"reader"', '403'):
            self.assertIn(word, error)

    def test_credential_without_conductors_is_limited(self) -> None:
        with self.assertLogs('ironic_ownership.engine', 'WARNING') as logs:
            error = self.probe('credential_limited', conductors=REFUSED)
        self.assertEqual(['WARNING'], [r.levelname for r in logs.records])
        self.assertNotIn('/v1/shards', error or '')

    def test_credential_that_the_operator_trusts_need_not_count(self) -> None:
        self.assertIsNone(self.probe(trusted=True, shard_counts=REFUSED))

    def test_ironic_that_does_not_answer_is_asked_again(self) -> None:
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.probe(shard_counts=exceptions.IronicUnavailableError('down'))
