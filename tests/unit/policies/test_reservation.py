from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.policies import reservation


def policy(**settings: model.Value) -> reservation.ReservationPolicy:
    return reservation.ReservationPolicy(settings)


class TestReservation(unittest.TestCase):
    def test_free_node_is_released_and_never_rebalanced(self) -> None:
        self.assertTrue(policy().releases_free)
        self.assertFalse(policy().rebalancing)

    def test_peers_of_earlier_releases_stay_peers(self) -> None:
        for fallback in ('', 'instance_uuid'):
            self.assertEqual(
                {'fallback': fallback, 'expiry': 3600},
                policy(fallback=fallback).settings(),
            )
        (expiry,) = reservation.ReservationPolicy.options
        for settings in ({}, {'expiry': expiry.default}):
            self.assertEqual(
                {'fallback': '', 'expiry': 3600}, policy(**settings).settings()
            )

    def test_every_node_is_left_unowned(self) -> None:
        nodes = [model.Node('1'), model.Node('2', instance_uuid='i')]
        self.assertEqual([None, None], policy().assign(nodes, ('host1',)))
