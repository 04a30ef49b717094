"""A lease expires once, and never during a renewal."""

from __future__ import annotations

import threading
import time
import unittest

from ironic_ownership_kazoo_membership import (
    lease,
)
from tests import (
    store,
)


class TestLease(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = store.Clock()
        self.lapses: list[float] = []
        self.lease = lease.Lease(
            30, lambda: self.lapses.append(self.clock.now), self.clock
        )
        self.addCleanup(self.lease.end)

    def after(self, seconds: float) -> int:
        self.clock.now += seconds
        self.lease.check()
        return len(self.lapses)

    def test_it_runs_out_once(self) -> None:
        self.lease.begin(self.clock.now)
        self.assertEqual(0, self.after(29))
        self.assertTrue(self.lease.runs)
        self.assertEqual(1, self.after(1))
        self.assertFalse(self.lease.runs)
        self.assertEqual(1, self.after(100))

    def test_renewal_counts_from_when_it_was_asked_for(self) -> None:
        self.lease.begin(self.clock.now)
        asked = self.clock.now + 10
        self.assertEqual(0, self.after(20))
        self.assertTrue(self.lease.renew(asked))
        self.assertEqual(0, self.after(19))
        self.assertEqual(1, self.after(1))

    def test_what_ran_out_or_ended_is_not_renewed(self) -> None:
        self.assertFalse(self.lease.renew(self.clock.now))
        self.lease.begin(self.clock.now)
        self.assertEqual(1, self.after(30))
        self.assertFalse(self.lease.renew(self.clock.now))
        self.lease.begin(self.clock.now)
        self.lease.end()
        self.assertFalse(self.lease.renew(self.clock.now))
        self.assertEqual(1, self.after(100))

    def test_lease_expires_without_a_check(self) -> None:
        lapsed = threading.Event()
        short = lease.Lease(0.05, lapsed.set)
        short.begin(time.monotonic())
        self.assertTrue(lapsed.wait(60))
