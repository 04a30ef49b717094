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
DEAD = cell_laws.Facts(exclusive=True, dead=frozenset({'host1'}))
MOVED = cell_laws.Facts(exclusive=True, moves=frozenset({USED}))

HALF_A_MOVE = {'rows': {FREE: 'host1', USED: 'host2'}}
MOVE = {**HALF_A_MOVE, 'instances': {'server': (USED, 'host2')}}
TAKEN = {'rows': {FREE: 'host2', USED: 'host1'}}
ROW_LOST = {'rows': {USED: 'host1'}}
PROVIDER_LOST = {'providers': frozenset({USED})}
NO_ALLOCATION = {'allocations': frozenset()}
FOUND = (
    # what changed, what the test did, what is found
    ({}, EXCLUSIVE, []),
    (HALF_A_MOVE, EXCLUSIVE, ['split', 'deployed']),
    (MOVE, EXCLUSIVE, ['deployed']),
    # It stays with its dead host, too.
    (MOVE, DEAD, ['deployed']),
    (MOVE, MOVED, []),
    (TAKEN, EXCLUSIVE, ['stolen']),
    (TAKEN, cell_laws.Facts(), []),
    (TAKEN, DEAD, []),
    (ROW_LOST, EXCLUSIVE, ['row lost']),
    (PROVIDER_LOST, EXCLUSIVE, ['provider lost']),
    # A node that Ironic lost may lose all.
    (
        {**ROW_LOST, **PROVIDER_LOST, 'nodes': frozenset({USED})},
        EXCLUSIVE,
        [],
    ),
    (NO_ALLOCATION, EXCLUSIVE, ['allocation lost']),
    ({**NO_ALLOCATION, 'deployed': {}, 'instances': {}}, EXCLUSIVE, []),
)


class TestCellLaws(unittest.TestCase):
    def test_what_is_found_in_two_snapshots(self) -> None:
        for fields, facts, expected in FOUND:
            new = dataclasses.replace(GOOD, **fields)
            found = [
                text.partition(':')[0]
                for text in [
                    *cell_laws.check_one(new),
                    *cell_laws.check_pair(GOOD, new, facts),
                ]
            ]
            self.assertEqual(expected, found, (fields, facts))

    def test_free_node_of_a_dead_host_is_unserved(self) -> None:
        rowless = dataclasses.replace(GOOD, rows={})
        for now, dead, expected in (
            (GOOD, ['host1'], {FREE}),
            (GOOD, ['host2'], set()),
            (rowless, [], {FREE}),
        ):
            found = cell_laws.unserved(now, dead)
            self.assertEqual(expected, found, (now, dead))
