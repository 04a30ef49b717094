"""The fake Placement keeps the laws of the real one."""

from __future__ import annotations

import unittest
import uuid as uuid_

from ironic_ownership.contracts import exceptions
from tests.contract.suites import placement


class FakePlacementTest(placement.PlacementContract, unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.fake = placement.FakePlacement()
        self.placement = self.fake

    def provide(self) -> str:
        uuid = str(uuid_.uuid4())
        self.fake.providers[uuid] = placement.FakeProvider(
            resources=dict(placement.ONE)
        )
        return uuid

    def allocate(self, uuid: str) -> str:
        consumer = str(uuid_.uuid4())
        self.fake.providers[uuid].consumers.add(consumer)
        return consumer

    def free(self, uuid: str, consumer: str) -> None:
        self.fake.providers[uuid].consumers.remove(consumer)

    def make_unavailable(self) -> None:
        self.fake.fail_with = exceptions.PlacementUnavailableError('down')

    def test_one_method_can_fail_alone_and_calls_are_kept(self) -> None:
        uuid = self.provide()
        self.fake.failures['consumers'] = exceptions.PlacementError('odd')
        self.assertTrue(self.placement.has_provider(uuid))
        self.assertRaises(
            exceptions.PlacementError, self.placement.consumers, uuid
        )
        self.assertEqual(
            [('has_provider', uuid), ('consumers', uuid)], self.fake.calls
        )
