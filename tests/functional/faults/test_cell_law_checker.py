"""Each law over a cell of Nova can fail: planted faults are found."""

from __future__ import annotations

import dataclasses
import unittest

from tests.functional.support import cell_laws

FREE, USED = 'free', 'used'
GOOD = cell_laws.Snapshot(
    rows={FREE: 'host1', USED: 'host1'},
    instances={'server': (USED, 'host1')},
    deployed={USED: 'server'},
    nodes=frozenset({FREE, USED}),
    providers=frozenset({FREE, USED}),
    allocations=frozenset({('server', USED)}),
)
EXCLUSIVE = cell_laws.Facts(exclusive=True)


def changed(**fields):
    return dataclasses.replace(GOOD, **fields)


class TestCellLaws(unittest.TestCase):
    def found(self, new, facts=EXCLUSIVE):
        return [
            text.partition(':')[0]
            for text in [
                *cell_laws.check_one(new),
                *cell_laws.check_pair(GOOD, new, facts),
            ]
        ]

    def test_nothing_is_found_where_nothing_changed(self) -> None:
        self.assertEqual([], self.found(GOOD))

    def test_half_a_move_is_found(self) -> None:
        half = changed(rows={FREE: 'host1', USED: 'host2'})
        self.assertEqual(['split', 'deployed'], self.found(half))

    def test_deployed_node_that_an_operator_moved_is_fine(self) -> None:
        whole = changed(
            rows={FREE: 'host1', USED: 'host2'},
            instances={'server': (USED, 'host2')},
        )
        self.assertEqual(['deployed'], self.found(whole))
        moved = dataclasses.replace(EXCLUSIVE, moves=frozenset({USED}))
        self.assertEqual([], self.found(whole, moved))

    def test_deployed_node_stays_with_its_dead_host(self) -> None:
        whole = changed(
            rows={FREE: 'host1', USED: 'host2'},
            instances={'server': (USED, 'host2')},
        )
        dead = cell_laws.Facts(dead=frozenset({'host1'}))
        self.assertEqual(['deployed'], self.found(whole, dead))

    def test_free_node_of_a_live_host_is_stolen(self) -> None:
        taken = changed(rows={FREE: 'host2', USED: 'host1'})
        self.assertEqual(['stolen'], self.found(taken))
        self.assertEqual([], self.found(taken, cell_laws.Facts()))
        dead = dataclasses.replace(EXCLUSIVE, dead=frozenset({'host1'}))
        self.assertEqual([], self.found(taken, dead))

    def test_lost_rows_and_providers_are_found(self) -> None:
        self.assertEqual(
            ['row lost'], self.found(changed(rows={USED: 'host1'}))
        )
        self.assertEqual(
            ['provider lost'],
            self.found(changed(providers=frozenset({USED}))),
        )

    def test_node_that_ironic_lost_may_lose_all(self) -> None:
        gone = changed(
            rows={USED: 'host1'},
            nodes=frozenset({USED}),
            providers=frozenset({USED}),
        )
        self.assertEqual([], self.found(gone))

    def test_allocation_of_a_living_instance_is_lost(self) -> None:
        self.assertEqual(
            ['allocation lost'],
            self.found(changed(allocations=frozenset())),
        )
        ended = changed(allocations=frozenset(), deployed={}, instances={})
        self.assertEqual([], self.found(ended))

    def test_free_node_of_a_dead_host_is_unserved(self) -> None:
        self.assertEqual({FREE}, cell_laws.unserved(GOOD, ['host1']))
        self.assertEqual(set(), cell_laws.unserved(GOOD, ['host2']))
        rowless = changed(rows={})
        self.assertEqual({FREE}, cell_laws.unserved(rowless, []))
