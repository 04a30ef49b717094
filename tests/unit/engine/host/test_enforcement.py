"""A service whose requests Ironic refuses says so, until it does no longer."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host.enforcement import EnforcementProbe
from tests.contract.suites.fake_bare_metal import FakeBareMetal


class TestEnforcementProbe(unittest.TestCase):
    def test_it_fails_until_ironic_admits_the_requests(self) -> None:
        known, ironic = conditions.Conditions(), FakeBareMetal()
        probe = EnforcementProbe(known, ironic, 'k' * 32, lambda: 7.0)
        for state, code, words in (
            (Enforcement.ENFORCED, None, ''),
            (Enforcement.OTHER_KEY, 'not_enforced', 'signed with'),
            (Enforcement.ABSENT, 'not_enforced', 'no middleware'),
            (Enforcement.NO_RECORDS, 'not_enforced', 'the records'),
            (Enforcement.ENFORCED, None, ''),
        ):
            with self.subTest(state):
                ironic.middleware = state
                again_in = probe.run_step()
                (found,) = known.of_loops([Loop.ENFORCEMENT])
                self.assertEqual(code, found.code)
                self.assertIn(words, found.error)
                self.assertEqual(code is None, again_in == 7.0)
