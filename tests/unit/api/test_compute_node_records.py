"""``/v1/compute-node-records``: pages of the records, and their age."""

from __future__ import annotations

from typing import Any

from ironic_ownership.api.operation import find_operation
from ironic_ownership.contracts.conditions import Condition
from tests.unit.engine import world
from tests.unit.web import app_case


class TestRecords(app_case.SiteCase):
    def read(self, query: str = '') -> dict[str, Any]:
        found: dict[str, Any] = self.get(f'/v1/compute-node-records?{query}')
        return found

    def refreshed(self, host: str, at: float) -> None:
        """Report at a time that a service had refreshed at 100 s."""
        done = Condition('refresh', succeeded_at=100.0)
        self.records.report_conditions(host, 'one', [done], interval=60, at=at)

    def test_ironic_is_not_asked(self) -> None:
        (first, *_) = self.read()['compute_node_records']
        self.assertEqual([], self.ironic.calls)
        self.assertEqual(
            {
                'uuid': world.uuid(1),
                'name': 'node1',
                'service': 'old',
                'state': 'owned',
                'instance_uuid': None,
                'shard': 'a',
                'conductor_group': '',
                'reason': 'exclusive',
                'unavailable': None,
                'seen_at': None,
            },
            first,
        )

    def test_filters_are_those_of_the_record(self) -> None:
        for query, numbers in (
            ('service=OLD', '123456'),
            ('service=new', ''),
            ('shard=a', '135'),
            ('conductor_group=g', ''),
        ):
            found = self.read(query)['compute_node_records']
            names = [f'node{number}' for number in numbers]
            self.assertEqual(names, [one['name'] for one in found], query)
        listed = find_operation('compute_node_record:list').query
        for parameter in listed[:3]:
            self.assertIn('on record', parameter.description)
            self.assertNotIn('as in Ironic', parameter.description)

    def test_case_of_hosts_and_groups_counts_nowhere(self) -> None:
        first = self.change_node(1, conductor_group='g')
        found = self.get('/v1/compute-nodes?conductor_group=G&service=OLD')
        uuids = [one['uuid'] for one in found['compute_nodes']]
        self.assertEqual([first.uuid], uuids)

    def test_age_is_that_of_the_last_refresh(self) -> None:
        (remark,) = self.read()['notes']
        self.assertIn('no refresh is on record of old', remark)
        self.refreshed('old', 130.0)
        (remark,) = self.read()['notes']
        self.assertIn('Ironic was read at most 30 s ago, by old', remark)
        (first, *_) = self.read()['compute_node_records']
        self.assertIsNotNone(first['seen_at'])
        self.assertEqual([], self.read('service=new')['notes'])

    def test_age_is_that_of_all_pages(self) -> None:
        epoch = self.records.register('late', world.ALL)
        self.claim('late', epoch, world.node(7, shard='a'))
        self.refreshed('old', 130.0)
        self.refreshed('late', 400.0)
        for query, host in (
            ('limit=1', 'late'),
            ('limit=1&shard=a', 'late'),
            ('limit=1&service=OLD', 'old'),
            ('limit=1&shard=b', 'old'),
        ):
            self.assertIn(f'by {host}', self.read(query)['notes'][0], query)
