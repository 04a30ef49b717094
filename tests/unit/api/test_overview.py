"""``/v1/overview``: each count, its sources, and their age."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import sqlalchemy as sa

from ironic_ownership.api.resources import check as resource
from ironic_ownership.contracts import exceptions, reasons
from ironic_ownership.contracts.records import Claim, Release
from ironic_ownership.db import tables
from tests.unit.engine import world
from tests.unit.web import app_case

PATH = '/v1/overview'


class OverviewTest(app_case.SiteCase):
    def read(self, query: str = '') -> dict[str, Any]:
        found: dict[str, Any] = self.get(f'{PATH}{query}')
        return found

    def start_old(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.backend.join('old', 'two', world.ALL)

    def test_ironic_is_not_read_for_the_answer(self) -> None:
        self.wired.overview = None  # what the background calls
        self.client = self.build('metrics_interval = 1000')
        self.ironic.calls.clear()
        found = self.read()
        self.assertEqual([], self.ironic.calls)
        self.assertIsNone(found['check_age'])
        self.assertIsNone(found['owned_twice'])

    def test_nodes_of_a_dead_owner_are_counted_and_found(self) -> None:
        found = self.read()
        self.assertEqual(6, found['without_live_owner'])
        self.assertEqual('warning', found['state'])
        (left,) = [f for f in found['findings'] if f['code'] == 'owner_dead']
        self.assertEqual((6, ['old']), (left['count'], left['services']))
        self.assertIn('Start old again', left['hint'])

    def test_nodes_of_a_dead_owner_are_those_of_the_check(self) -> None:
        (expected,) = [
            problem
            for problem in self.get('/v1/check')['problems']
            if problem['code'] == 'owner_dead'
        ]
        for query in ('', '?check=true'):
            (found,) = [
                finding
                for finding in self.read(query)['findings']
                if finding['code'] == 'owner_dead'
            ]
            for key in ('severity', 'what', 'count', 'services', 'hint'):
                self.assertEqual(expected[key], found[key], key)

    def test_findings_that_need_ironic_are_those_of_the_last_check(
        self,
    ) -> None:
        codes = [f['code'] for f in self.read()['findings']]
        self.assertEqual(['owner_dead'], codes)
        codes = [f['code'] for f in self.read('?check=true')['findings']]
        self.assertEqual(['owner_dead', 'record_keeps'], sorted(codes))

    def test_membership_in_an_outage_is_no_dead_owner(self) -> None:
        def fail() -> None:
            raise exceptions.MembershipError('down')

        self.backend.view = fail
        found = self.read()
        self.assertIsNone(found['without_live_owner'])
        self.assertEqual('unknown', found['state'])
        self.assertIn('membership is unknown: down', found['warnings'])

    def test_node_without_a_record_is_unowned_or_waits(self) -> None:
        self.ironic.put(world.node(7))
        self.assertEqual(
            (0, 1, 7),
            self.three(self.read('?check=true')),
            'a live service is about to claim it',
        )
        self.records.set_service('new', actor='test', disabled=True)
        self.assertEqual((1, 0, 7), self.three(self.read('?check=true')))

    @staticmethod
    def three(found: dict[str, Any]) -> tuple[int, int, int]:
        return found['unowned'], found['waiting'], found['nodes']

    def test_released_node_waits_for_its_next_owner(self) -> None:
        record = next(iter(self.records.compute_nodes()))
        self.records.apply(
            'old', self.epoch, [Release(record.uuid, reasons.Reason.RELEASED)]
        )
        found = self.read()
        self.assertEqual((0, 1), (found['unowned'], found['waiting']))

    def test_instance_of_two_nodes_is_served_twice(self) -> None:
        """Ironic has it on a node of another service than the records."""
        self.start_old()
        node = dataclasses.replace(
            self.ironic.nodes[world.uuid(1)], instance_uuid=world.uuid(99)
        )
        self.ironic.put(node)
        self.records.apply(
            'old', self.epoch, [Release(node.uuid, reasons.Reason.RELEASED)]
        )
        self.claim('old', self.epoch, node)
        self.assertEqual(0, self.read('?check=true')['owned_twice'])
        bare = dataclasses.replace(node, instance_uuid=None)
        self.ironic.put(bare)
        self.ironic.put(world.node(8, instance_uuid=world.uuid(99)))
        found = self.read('?check=true')
        self.assertEqual((1, 'error'), (found['owned_twice'], found['state']))

    def test_instance_that_two_services_have_on_record_is_served_twice(
        self,
    ) -> None:
        self.start_old()
        instance = world.uuid(99)
        with self.wired.database._writer.begin() as conn:
            for number in (1, 2):
                conn.execute(
                    sa.insert(tables.instances).values(
                        uuid=instance,
                        node_uuid=world.uuid(number),
                        open_node_uuid=world.uuid(number),
                        created_at=0,
                    )
                )
            conn.execute(
                sa.update(tables.compute_nodes)
                .where(tables.compute_nodes.c.uuid == world.uuid(2))
                .values(host='new')
            )
        for number, other in ((1, 2), (2, 1)):
            self.ironic.put(
                world.node(number, instance_uuid=instance), world.node(other)
            )
            self.assertEqual(1, self.read('?check=true')['owned_twice'])

    def test_row_of_a_cell_that_names_another_service_counts(self) -> None:
        self.start_old()
        rows = types.SimpleNamespace(
            checks=(),
            twice=frozenset((world.uuid(1), world.uuid(2))),
            drifted=frozenset(world.uuid(n) for n in (1, 2, 3)),
        )
        self.wired.companion = types.SimpleNamespace(
            read=lambda attempt, placement: rows, transactions=None
        )
        found = self.read()
        self.assertEqual((2, 3), (found['owned_twice'], found['drifted']))
        self.assertEqual('error', found['state'])

    def test_owner_outside_of_its_filter_has_drifted(self) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        self.records.apply(
            'old', self.epoch, [Release(node.uuid, reasons.Reason.RELEASED)]
        )
        self.records.apply(
            'old', self.epoch, [Claim(node, reasons.Reason.FILTERED_KEEPS)]
        )
        self.assertEqual(1, self.read()['drifted'])

    def test_shares_are_those_of_the_long_list(self) -> None:
        self.start_old()
        expected = {
            one['host']: (one['nodes'], one['of_mean'])
            for one in self.get('/v1/services?long=true')['services']
        }
        found = {
            one['host']: (one['nodes'], one['of_mean'])
            for one in self.read()['services']
        }
        self.assertEqual(expected, found)

    def test_node_in_use_is_not_unavailable(self) -> None:
        with self.wired.database._writer.begin() as conn:
            conn.execute(
                sa.update(tables.compute_nodes)
                .where(
                    tables.compute_nodes.c.uuid.in_(
                        [world.uuid(1), world.uuid(2)]
                    )
                )
                .values(unavailable='maintenance')
            )
            conn.execute(
                sa.insert(tables.instances).values(
                    uuid=world.uuid(99),
                    node_uuid=world.uuid(1),
                    open_node_uuid=world.uuid(1),
                    created_at=0,
                )
            )
        found = {one['host']: one for one in self.read()['services']}['old']
        self.assertEqual((1, 1), (found['instances'], found['unavailable']))

    def test_check_without_ironic_proves_nothing(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        found = self.read('?check=true')
        self.assertIsNone(found['owned_twice'])
        self.assertIn('Ironic: down', [f['what'] for f in found['findings']])

    def test_all_is_well(self) -> None:
        self.backend.leave()
        self.records.set_service('new', actor='test', forced_down=True)
        self.start_old()
        found = self.read('?check=true')
        self.assertEqual(
            [0] * 5,
            [found[column.key] for column in resource.COUNTS],
        )
        severities = {f['severity'] for f in found['findings']}
        self.assertEqual(
            'warning' if severities else 'ok', found['state'], severities
        )

    def test_last_check_is_shown_with_its_age(self) -> None:
        self.client = self.build('metrics_interval = 1000')
        self.ironic.put(world.node(7))
        self.client.get('/metrics')  # reads Ironic, and waits for it
        found = self.read()
        self.assertEqual((0, 1, 7), self.three(found))
        self.assertGreaterEqual(found['check_age'], 0)
