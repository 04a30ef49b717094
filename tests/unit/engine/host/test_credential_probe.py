from __future__ import annotations

import dataclasses
import unittest
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import credential_probe
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import service

REFUSED = exceptions.IronicError('Ironic answered 403')
DOWN = exceptions.IronicUnavailableError('down')


class TestProbe(unittest.TestCase):
    def probe(self, ironic, found, trusted=False) -> None:
        context = mock.Mock(conditions=found, **{'ports.ironic': ironic})
        limits = dataclasses.replace(service.LIMITS, trusts_credential=trusted)
        credential_probe.probe(context, limits)

    def test_each_credential_has_its_condition(self) -> None:
        """Also without any node; a blind one is one error with the role."""
        words = ('/v1/shards', '/v1/conductors', '"reader"', '403')
        for refused, trusted, code, level in (
            ((), False, None, 'INFO'),
            (
                ('shard_counts', 'conductors'),
                False,
                'credential_blind',
                'ERROR',
            ),
            (('conductors',), False, 'credential_limited', 'WARNING'),
            (('shard_counts',), True, None, 'INFO'),
        ):
            with self.subTest(refused, trusted=trusted):
                ironic = fake_bare_metal.FakeBareMetal()
                ironic.failures = dict.fromkeys(refused, REFUSED)
                found = conditions.Conditions()
                with self.assertLogs(conditions.__name__, 'INFO') as logs:
                    conditions.LOG.info('it begins')
                    self.probe(ironic, found, trusted)
                (condition,) = found.of_loops([Loop.CREDENTIAL])
                self.assertEqual(code, condition.code)
                if code is None:
                    self.assertEqual(1, len(logs.records))
                    continue
                self.assertEqual(
                    [level], [r.levelname for r in logs.records[1:]]
                )
                for word in words[len(words) - 2 - len(refused) :]:
                    self.assertIn(word, condition.error)
                self.assertEqual(
                    len(refused) == 2, words[0] in condition.error
                )

    def test_ironic_that_does_not_answer_is_asked_again(self) -> None:
        ironic = fake_bare_metal.FakeBareMetal()
        ironic.failures = {'shard_counts': DOWN}
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.probe(ironic, conditions.Conditions())
