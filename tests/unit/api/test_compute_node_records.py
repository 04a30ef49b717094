"""``/v1/compute-node-records``: pages of the records, and their age."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_ownership.api.operation import find_operation
from ironic_ownership.contracts.conditions import Condition
from tests.unit.engine import world
from tests.unit.web import app_case

PATH = '/v1/compute-node-records'


class TestRecords(app_case.SiteCase):
    def read(self, query: str = '') -> dict[str, Any]:
        found: dict[str, Any] = self.get(f'{PATH}?{query}')
        return found

    def names(self, query: str = '') -> list[str]:
        listed = self.read(query)['compute_node_records']
        return [one['name'] for one in listed]

    def test_ironic_is_not_asked(self) -> None:
        self.ironic.calls.clear()
        (first, *_) = self.read()['compute_node_records']
        self.assertEqual([], self.ironic.calls)
        self.assertEqual(
            {
                'uuid': first['uuid'],
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
        self.assertEqual(6, len(self.names('service=OLD')))
        self.assertEqual([], self.names('service=new'))
        self.assertEqual(['node1', 'node3', 'node5'], self.names('shard=a'))
        self.assertEqual([], self.names('conductor_group=g'))

    def test_filters_are_described_as_those_of_the_record(self) -> None:
        listed = find_operation('compute_node_record:list').query
        for parameter in listed[:3]:
            self.assertIn('on record', parameter.description)
            self.assertNotIn('as in Ironic', parameter.description)

    def test_case_of_hosts_and_groups_counts_nowhere(self) -> None:
        first = self.ironic.nodes[min(self.ironic.nodes)]
        self.ironic.put(dataclasses.replace(first, conductor_group='g'))
        found = self.get('/v1/compute-nodes?conductor_group=G&service=OLD')
        uuids = [one['uuid'] for one in found['compute_nodes']]
        self.assertEqual([first.uuid], uuids)

    def test_unknown_service_is_named_as_it_was_asked_for(self) -> None:
        for path in (PATH, '/v1/compute-nodes'):
            found = self.refused('GET', f'{path}?service=Rack9', 404)
            self.assertIn("service 'Rack9'", found['message'])

    def test_unknown_member_of_a_ring_is_named_as_it_was_asked_for(
        self,
    ) -> None:
        self.backend.join('old', 'two', world.ALL)
        for query in ('without=Odl', 'with=x&like=Odl'):
            found = self.refused('GET', f'/v1/rings/preview?{query}', 404)
            self.assertIn("member 'Odl'", found['message'])
            self.assertEqual('Did you mean old?', found['hint'])

    def test_age_is_that_of_the_last_refresh(self) -> None:
        (remark,) = self.read()['notes']
        self.assertIn('no refresh is on record of old', remark)
        self.records.report_conditions(
            'old',
            'one',
            [Condition('refresh', succeeded_at=100.0)],
            interval=60,
            at=130.0,
        )
        (remark,) = self.read()['notes']
        self.assertIn('Ironic was read at most 30 s ago, by old', remark)
        (first, *_) = self.read()['compute_node_records']
        self.assertIsNotNone(first['seen_at'])

    def test_age_is_that_of_all_pages(self) -> None:
        epoch = self.records.register('late', world.ALL)
        self.claim('late', epoch, world.node(7, shard='a'))
        for host, now in (('old', 130.0), ('late', 400.0)):
            self.records.report_conditions(
                host,
                'one',
                [Condition('refresh', succeeded_at=100.0)],
                interval=60,
                at=now,
            )
        for query in ('limit=1', 'limit=1&shard=a'):
            self.assertIn('by late', self.read(query)['notes'][0])
        for query in ('limit=1&service=OLD', 'limit=1&shard=b'):
            self.assertIn('by old', self.read(query)['notes'][0])

    def test_nothing_on_record_has_no_age(self) -> None:
        self.assertEqual([], self.read('service=new')['notes'])
