"""``compute node delete|check-delete`` with real Ironic and Placement."""

from __future__ import annotations

import uuid as uuid_

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter
from tests.functional.support import deletion_case, ironics


class DeleteTest(deletion_case.DeletionTestCase):
    def test_provider_and_record_go_together(self) -> None:
        (row,) = self.run_json('delete', 'gone-1', '--yes')
        self.assertEqual(('deleted', True), _result(row))
        self.assert_only_gone_is_deleted()
        event = self.lab.records.events(EventFilter(node_uuid=self.gone))[0]
        self.assertEqual(
            ('node_forgotten', 'rack1', 'node_gone'),
            (event.kind, event.from_host, event.reason),
        )
        self.assertIn('@', event.actor)

    def test_node_that_ironic_has_is_refused(self) -> None:
        for command in (['check-delete'], ['delete', '--yes']):
            rows = self.run_json(*command, self.nodes[0], code=3)
            self.assertTrue(rows)
        outcomes = self.check(self.nodes[0], code=3)
        self.assertEqual(
            deletion_case.GATES | {'node_is_gone': 'failed'}, outcomes
        )
        self.assert_all_kept()

    def test_instance_keeps_the_record(self) -> None:
        self.update(
            model.Node(
                self.gone, name='gone-1', instance_uuid=str(uuid_.uuid4())
            )
        )
        self.assert_refused(no_instance='failed')

    def test_allocation_keeps_record_and_provider(self) -> None:
        consumer = self.placement_server.allocate(self.gone)
        self.assert_refused(no_allocation='failed')
        self.assertIn(consumer, self.evidence['no_allocation'])
        self.placement_server.free(consumer)
        self.run_json('delete', self.gone, '--yes')
        self.assert_only_gone_is_deleted()

    def test_shard_emptied_by_mistake_loses_nothing(self) -> None:
        for uuid in self.nodes:
            self.server.request(
                'PATCH',
                f'/nodes/{uuid}',
                json=[{'op': 'add', 'path': '/shard', 'value': 'elsewhere'}],
            )
        config = self.lab.configure(
            'sharded',
            policies='shard_key',
            ironic='shard_key = rack1',
            more=self.placement_section(),
        )
        for uuid in self.nodes:
            outcomes = self.check(uuid, code=3, config=config)
            self.assertEqual('failed', outcomes['node_is_gone'])
        self.run_json('delete', *self.nodes, '--yes', code=3, config=config)
        self.assert_all_kept()

    def test_with_a_shard_key_only_shards_are_listed(self) -> None:
        proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        self.lab.ironic = proxy.url
        config = self.lab.configure(
            'sharded',
            policies='shard_key',
            ironic='shard_key = rack1',
            more=self.placement_section(),
        )
        self.run_json('delete', self.gone, '--yes', config=config)
        self.assertTrue(proxy.lists)
        for query in proxy.lists:
            self.assertIn(('shard', 'rack1'), query)
        self.assert_only_gone_is_deleted()

    def test_ironic_down_is_no_deletion(self) -> None:
        self.server.kill()
        self.addCleanup(self.server.start)
        self.assert_refused(
            node_is_gone='unknown',
            no_mass_loss='unknown',
            sees_all_nodes='unknown',
        )
        self.assertIn('refused', self.evidence['node_is_gone'])

    def test_placement_down_is_no_deletion(self) -> None:
        self.placement_server.kill()
        outcomes = self.check(self.gone, code=3)
        (row,) = self.run_json('delete', self.gone, '--yes', code=3)
        self.placement_server.start()
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'unknown'}, outcomes
        )
        self.assertEqual(['no_allocation'], row['failed_gates'])
        self.assert_all_kept()

    def test_deployment_without_placement_is_reported(self) -> None:
        self.lab.config = self.lab.configure()
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'not_configured'},
            self.check(self.gone),
        )
        self.assertIn(
            '[placement] is not configured', self.evidence['no_allocation']
        )

    def test_narrower_credential_is_no_deletion(self) -> None:
        """A node that is counted and not listed: here, by its being hidden."""
        proxy = HidingProxy(self.server.endpoint, self.nodes[0])
        self.addCleanup(proxy.stop)
        self.lab.ironic = proxy.url
        self.lab.config = self.lab.configure(more=self.placement_section())
        self.assert_refused(sees_all_nodes='failed')
        self.assertIn('3 nodes listed, 4', self.evidence['sees_all_nodes'])

    def test_parts_of_other_nodes_are_no_narrower_credential(self) -> None:
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET parent_node = ? WHERE uuid = ?',
                (self.nodes[0], self.nodes[1]),
            )
        self.assertEqual(deletion_case.GATES, self.check(self.gone))


class HidingProxy(ironics.RecordingProxy):
    """Leaves one node out of every list, as a project's credential would."""

    def __init__(self, target: str, hidden: str) -> None:
        super().__init__(target)
        self._hidden = hidden

    def _ask(self, handler):  # type: ignore[no-untyped-def]
        import json

        status, headers, body = super()._ask(handler)
        if handler.path.startswith('/v1/nodes?'):
            data = json.loads(body)
            data['nodes'] = [
                n for n in data['nodes'] if n['uuid'] != self._hidden
            ]
            body = json.dumps(data).encode()
        return status, headers, body


def _result(row: dict[str, object]) -> tuple[object, object]:
    return row['result'], row['provider_deleted']
