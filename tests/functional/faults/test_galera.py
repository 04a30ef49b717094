"""The lab's Galera cluster: nodes that die, freeze and are cut off."""

from __future__ import annotations

import re
import unittest

import pymysql

from lab import galera
from tests.functional.support import databases


class TestGalera(unittest.TestCase):
    nodes: list[galera.Node]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.nodes = databases.GALERA.server.nodes
        cls.nodes[0].create_database('lab')
        cls.nodes[0].query('CREATE TABLE lab.rows (name CHAR(9) PRIMARY KEY)')

    def write(self, node: galera.Node, name: str) -> None:
        node.query(f"INSERT INTO lab.rows VALUES ('{name}')")

    def assert_everywhere(self, name: str) -> None:
        for node in self.nodes:
            node.applied()
            found = node.query(f"SELECT * FROM lab.rows WHERE name='{name}'")
            self.assertEqual([(name,)], found)

    def test_every_node_writes_and_logs_in_one_order(self) -> None:
        for number, node in enumerate(self.nodes):
            self.write(node, f'from{number}')
        self.assert_everywhere('from2')
        written = [
            re.findall("@1='(from.)'", node.binary_log())
            for node in self.nodes
        ]
        self.assertEqual([['from0', 'from1', 'from2']] * 3, written)

    def test_isolated_node_refuses_reads(self) -> None:
        one, two, _ = self.nodes
        two.isolate()
        one.wait_for_size(2)
        self.write(one, 'isolated')
        with self.assertRaisesRegex(pymysql.OperationalError, '1047'):
            two.query('SELECT * FROM lab.rows')
        two.rejoin()
        one.wait_for_size(3)
        self.assert_everywhere('isolated')
