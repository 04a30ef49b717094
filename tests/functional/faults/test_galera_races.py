"""Races on a Galera cluster: of processes, of moves, of an operator.

Processes and moves use all nodes. Where one writer has to wait for a lock of
another, both are behind the proxy, which has one node for all: locks are those
of a node.
"""

from __future__ import annotations

import unittest

from tests.functional import test_overlaps, test_races
from tests.functional.support import databases, galera_case


class TestProcesses(test_races.Processes, unittest.TestCase):
    """Each process writes through the next node."""

    def fresh_urls(self) -> list[str]:
        return databases.GALERA.fresh()


class TestMoves(test_races.Moves, galera_case.OnGalera):
    """Each transaction of a move goes through the next node."""


class TestServices(test_overlaps.Overlaps, unittest.TestCase):
    kind = databases.HAPROXY
