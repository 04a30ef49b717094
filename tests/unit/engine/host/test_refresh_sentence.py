"""The sentence about a refresh."""

from __future__ import annotations

import collections
import unittest
from typing import Any

from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    Release,
    Update,
)
from ironic_ownership.engine.host import refresh_loop
from ironic_ownership.engine.host.refresh_result import Summary

IDLE = 'changed nothing; owns 120 nodes; '


class TestSentence(unittest.TestCase):
    def said(
        self, did: dict[type[Change], int] | None = None, **rest: Any
    ) -> str:
        done = collections.Counter(did)
        return refresh_loop.sentence(Summary(owned=120, done=done, **rest))

    def test_nothing_to_do(self) -> None:
        self.assertEqual('nothing to change; owns 120 nodes', self.said())

    def test_what_it_did(self) -> None:
        self.assertEqual('claimed 1 node', self.said({Claim: 1, Delete: 0}))
        self.assertEqual(
            'claimed 3 nodes, released 1 node, updated 2 records, '
            'deleted 4 records',
            self.said({Delete: 4, Update: 2, Release: 1, Claim: 3}),
        )

    def test_what_waits_for_whom(self) -> None:
        self.assertEqual(
            'claimed 3 nodes, released 1 node; 2 nodes wait for release by '
            'host3; 10 nodes wait for the budget (at least 4 minutes)',
            self.said(
                {Claim: 3, Release: 1},
                waiting=2,
                owners={'host3': 2},
                delayed=10,
                wait=181.0,
            ),
        )

    def test_each_reason_to_wait(self) -> None:
        for expected, fields in (
            (
                '1 node waits because host5, host6 may be dead or alive',
                {'deferred': 1, 'suspects': frozenset({'host6', 'host5'})},
            ),
            (
                '2 nodes wait because their owners may be dead or alive',
                {'deferred': 2},
            ),
            ('5 nodes wait to be read from Ironic', {'pending': 5}),
            (
                '1 node waits for the next refresh: other changes came first',
                {'refused': 1},
            ),
            ('3 nodes wait for the end of a pause', {'paused': 3}),
            (
                'more wait for the next round (handover_limit)',
                {'limited': True},
            ),
            (
                'deletes nothing: too many nodes are missing',
                {'mass_loss': True},
            ),
        ):
            with self.subTest(expected):
                self.assertEqual(IDLE + expected, self.said(**fields))

    def test_many_owners_are_counted(self) -> None:
        owners = {f'host{n}': n for n in range(1, 7)} | {'a': 6}
        self.assertEqual(
            IDLE + '6 nodes wait for release by a; 6 nodes wait for release '
            'by host6; 5 nodes wait for release by host5; 10 nodes wait for '
            'release by other services',
            self.said(owners=owners),
        )
