"""Races on a Galera cluster: of processes, of moves, of an operator.

Processes and moves use all nodes. Where one writer has to wait for a lock of
another, both are behind the proxy, which has one node for all: locks are those
of a node.
"""

from __future__ import annotations

import unittest

from tests.functional import (
    test_move_races,
    test_records_races,
    test_service_races,
)
from tests.functional.support import databases, galera_case


class TestProcesses(test_records_races.Races, unittest.TestCase):
    """Each process writes through the next node."""

    def fresh_urls(self) -> list[str]:
        return databases.GALERA.fresh()


class TestMoves(test_move_races.Race, galera_case.OnGalera):
    """Each transaction of a move goes through the next node."""


class TestServices(test_service_races.Races, unittest.TestCase):
    kind = databases.HAPROXY
