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


class TestStandby(service.ServiceCase):
    def test_credential_of_a_standby_is_probed_before_it_has_to_serve(
        self,
    ) -> None:
        active = self.start('host1')
        self.shared.ironic = ironic = fake_bare_metal.FakeBareMetal()
        standby = self.start('host1').process
        self.assertEqual('standby', standby.member.state.role)
        # Its password was changed; an outage says nothing about it.
        expired = exceptions.IronicError('Keystone answers 401')
        for error, found in ((None, 0), (DOWN, 0), (expired, 1), (None, 0)):
            ironic.fail_with = error
            active.beat()
            standby.refresh_loop.wake()
            standby.refresh_loop.run_step()
            faults = standby.monitor.health().faults
            self.assertEqual(found, len(faults), faults)
