"""Laws of the queries of a host, for every implementation of the records."""

from __future__ import annotations

import itertools
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import NodeFilter, Update
from tests.contract.suites import records


class QueryContract(records.RecordsContract):
    """Compute nodes of a host and of its scope."""

    def setUp(self) -> None:
        super().setUp()
        one, two = self.register('host1'), self.register('host2')
        self.assert_applied(
            'host1',
            one,
            records.claim(1, shard='s1', conductor_group='g1'),
            records.claim(2, shard='other'),
        )
        self.assert_applied(
            'host2',
            two,
            records.claim(3, shard='s1', conductor_group='g2'),
            records.claim(4, shard='S1', conductor_group='g1'),
            records.claim(5, conductor_group='g1'),
            records.claim(6, shard='s1 ', conductor_group='g1'),
        )

    def in_reach(self, host: str, **scope: Any) -> list[int]:
        """Return the numbers of the nodes in reach of a host."""
        found = self.records.in_reach(host, model.Scope(**scope))
        return sorted(int(n.uuid[-3:]) for n in found)

    def test_own_nodes_and_those_in_scope_are_in_reach(self) -> None:
        self.assertEqual([1, 2, 3], self.in_reach('host1', shard='s1'))
        self.assertEqual(
            [1, 2], self.in_reach('host1', shard='s1', conductor_group='g1')
        )
        self.assertEqual(
            [1, 2, 4, 5, 6], self.in_reach('host1', conductor_group='g1')
        )
        self.assertEqual(
            [1, 2], self.in_reach('host1', shard='other', conductor_group='')
        )

    def test_shards_that_differ_in_case_or_space_are_others(self) -> None:
        self.assertEqual([4], self.in_reach('host9', shard='S1'))
        self.assertEqual([6], self.in_reach('host9', shard='s1 '))
        self.assertEqual([1, 3], self.in_reach('host9', shard='s1'))

    def test_scope_without_filter_is_everything(self) -> None:
        self.assertEqual([1, 2, 3, 4, 5, 6], self.in_reach('host9'))

    def pages(self, limit: int, **chosen: Any) -> list[list[int]]:
        """Return the numbers of the nodes of each page."""
        found: list[list[int]] = []
        after = ''
        while not found or len(found[-1]) == limit:
            page = self.records.compute_nodes_page(
                NodeFilter(**chosen), after=after, limit=limit
            )
            found.append([int(n.uuid[-3:]) for n in page])
            after = page[-1].uuid if page else after
        self.assertCountEqual(
            itertools.chain(*found),
            [
                int(n.uuid[-3:])
                for n in self.records.compute_nodes(NodeFilter(**chosen))
            ],
        )
        return found

    def test_pages_have_every_node_once_in_order(self) -> None:
        self.assertEqual([[1, 2, 3, 4], [5, 6]], self.pages(4))
        self.assertEqual([[1, 2, 3], [4, 5, 6], []], self.pages(3))

    def test_pages_have_the_chosen_nodes_only(self) -> None:
        self.assertEqual([[3, 4], [5, 6], []], self.pages(2, host='host2'))
        self.assertEqual([[1], [3], []], self.pages(1, shard='s1'))
        self.assertEqual([[6], []], self.pages(1, shard='s1 '))
        self.assertEqual(
            [[4, 5], [6]], self.pages(2, conductor_group='g1', host='host2')
        )
        self.assertEqual([[2]], self.pages(9, conductor_group=''))
        self.assertEqual([[]], self.pages(9, host='HOST2'))

    def test_empty_scope_leaves_the_own_nodes(self) -> None:
        self.assertEqual([1, 2], self.in_reach('host1', nothing=True))
        self.assertEqual([], self.in_reach('host9', nothing=True, shard='s1'))

    def test_unknown_uuids_are_left_out(self) -> None:
        found = self.records.compute_nodes_by_uuid(
            [records.uuid(1), records.uuid(99)]
        )
        self.assertEqual([records.uuid(1)], [n.uuid for n in found])
        self.assertEqual([], list(self.records.compute_nodes_by_uuid([])))

    def test_node_of_an_open_instance(self) -> None:
        instance = records.uuid(99)
        epoch = self.service('host1').epoch
        node = records.node(1, instance_uuid=instance)
        self.assert_applied('host1', epoch, Update(node))
        self.assertEqual(node.uuid, self.records.node_of_instance(instance))
        for other in (node.uuid, records.uuid(98)):
            self.assertIsNone(self.records.node_of_instance(other))
        self.assert_applied('host1', epoch, Update(records.node(1)))
        self.assertIsNone(self.records.node_of_instance(instance))

    def test_node_of_an_instance_that_moved_is_the_last_one(self) -> None:
        """A dead service has not closed it on the node where it was."""
        for number, hosts in ((98, (1, 3)), (99, (4, 2))):
            instance = records.uuid(number)
            for node in hosts:
                host = 'host1' if node < 3 else 'host2'
                self.assert_applied(
                    host,
                    self.service(host).epoch,
                    Update(records.node(node, instance_uuid=instance)),
                )
            self.assertEqual(
                records.uuid(hosts[-1]),
                self.records.node_of_instance(instance),
            )
