"""Laws of the queries of a host, for every implementation of the records."""

from __future__ import annotations

import itertools
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import NodeFilter, Update
from tests.contract.suites.records import RecordsContract, claim, node, uuid


class QueryContract(RecordsContract):
    """Compute nodes of a host and of its scope."""

    def setUp(self) -> None:
        super().setUp()
        self.register('host1')
        self.register('host2')
        self.applied(
            'host1',
            claim(1, shard='s1', conductor_group='g1'),
            claim(2, shard='other'),
        )
        self.applied(
            'host2',
            claim(3, shard='s1', conductor_group='g2'),
            claim(4, shard='S1', conductor_group='g1'),
            claim(5, conductor_group='g1'),
            claim(6, shard='s1 ', conductor_group='g1'),
        )

    def test_own_nodes_and_those_in_scope_are_in_reach(self) -> None:
        stored = {record.uuid: record for record in self.state()[1]}
        for host, scope, numbers in (
            ('host1', {'shard': 's1'}, [1, 2, 3]),
            ('host1', {'shard': 's1', 'conductor_group': 'g1'}, [1, 2]),
            ('host1', {'conductor_group': 'g1'}, [1, 2, 4, 5, 6]),
            ('host1', {'shard': 'other', 'conductor_group': ''}, [1, 2]),
            # Case and white space make other shards.
            ('host9', {'shard': 'S1'}, [4]),
            ('host9', {'shard': 's1 '}, [6]),
            ('host9', {'shard': 's1'}, [1, 3]),
            ('host9', {}, [1, 2, 3, 4, 5, 6]),
            ('host1', {'nothing': True}, [1, 2]),
            ('host9', {'nothing': True, 'shard': 's1'}, []),
        ):
            found = self.records.in_reach(host, model.Scope(**scope))
            self.assertCountEqual(
                [stored[uuid(number)] for number in numbers],
                found,
                (host, scope),
            )

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

    def test_pages_have_each_chosen_node_once_in_order(self) -> None:
        in_group = {'conductor_group': 'g1', 'host': 'host2'}
        for limit, chosen, pages in (
            (4, {}, [[1, 2, 3, 4], [5, 6]]),
            (3, {}, [[1, 2, 3], [4, 5, 6], []]),
            (2, {'host': 'host2'}, [[3, 4], [5, 6], []]),
            (1, {'shard': 's1'}, [[1], [3], []]),
            (1, {'shard': 's1 '}, [[6], []]),
            (2, in_group, [[4, 5], [6]]),
            (9, {'conductor_group': ''}, [[2]]),
            (9, {'host': 'HOST2'}, [[]]),
        ):
            found = self.pages(limit, **chosen)
            self.assertEqual(pages, found, (limit, chosen))

    def test_unknown_uuids_are_left_out(self) -> None:
        found = self.records.compute_nodes_by_uuid([uuid(1), uuid(99)])
        self.assertEqual([uuid(1)], [n.uuid for n in found])
        self.assertEqual([], list(self.records.compute_nodes_by_uuid([])))

    def test_node_of_an_instance_is_the_last_one_with_it_open(self) -> None:
        """A dead service has not closed it on the node where it was."""
        for instance, numbers in ((uuid(98), (1, 3)), (uuid(99), (4, 2))):
            for number in numbers:
                host = 'host1' if number < 3 else 'host2'
                self.applied(
                    host, Update(node(number, instance_uuid=instance))
                )
                self.assertEqual(
                    uuid(number), self.records.node_of_instance(instance)
                )
        self.applied('host1', Update(node(1)), Update(node(2)))
        for instance, expected in (
            (uuid(98), uuid(3)),
            (uuid(99), uuid(4)),
            (uuid(97), None),
            (uuid(1), None),
        ):
            found = self.records.node_of_instance(instance)
            self.assertEqual(expected, found, instance)
