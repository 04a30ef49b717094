"""Deletion of what is gone by operators, with a real Placement."""

from __future__ import annotations

import dataclasses
import json
import uuid as uuid_

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter
from lab.http_server import Answer, Request
from tests.functional.support import (
    deletion_case,
    ironics,
)


class HidingProxy(ironics.RecordingProxy):
    """Leaves one node out of every list, as a project's credential would."""

    hidden = ''

    def _ask(self, request: Request) -> Answer:
        status, headers, body = super()._ask(request)
        if request.path.startswith('/v1/nodes?'):
            data = json.loads(body)
            data['nodes'] = [
                n for n in data['nodes'] if n['uuid'] != self.hidden
            ]
            body = json.dumps(data).encode()
        return status, headers, body


class DeleteTest(deletion_case.DeletionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.proxy = HidingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab.ironic = self.proxy.url
        self.lab.config = self.lab.configure(more=self.placement_section())

    def test_each_gate_alone_keeps_record_and_provider(self) -> None:
        self.assertEqual(
            deletion_case.GATES | {'node_is_gone': 'failed'},
            self.check(self.nodes[0], code=3),
        )
        node = model.Node(self.gone, name='gone-1')
        self.update(
            dataclasses.replace(node, instance_uuid=str(uuid_.uuid4()))
        )
        self.assert_refused(no_instance='failed')
        self.update(node)
        consumer = self.placement_server.allocate(self.gone)
        self.assert_refused(no_allocation='failed')
        self.assertIn(consumer, self.evidence['no_allocation'])
        self.placement_server.free(consumer)
        # Counted and not listed: what a narrower credential looks like.
        self.proxy.hidden = self.nodes[0]
        self.assert_refused(sees_all_nodes='failed')
        self.assertIn('3 nodes listed, 4', self.evidence['sees_all_nodes'])
        self.proxy.hidden = ''
        self.server.kill()
        self.addCleanup(self.server.start)
        self.assert_refused(
            node_is_gone='unknown',
            no_mass_loss='unknown',
            sees_all_nodes='unknown',
        )
        self.server.start()
        self.placement_server.kill()
        outcomes = self.check(self.gone, code=3)
        (row,) = self.run_json('delete', self.gone, '--yes', code=3)
        self.placement_server.start()
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'unknown'}, outcomes
        )
        self.assertEqual(['no_allocation'], row['failed_gates'])
        self.assert_all_kept()
        self.assertEqual(deletion_case.GATES, self.check(self.gone))
        # Without Placement the gate is reported as such, and passes.
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'not_configured'},
            self.check(self.gone, config=self.lab.configure('without')),
        )

    def test_parts_of_other_nodes_are_no_narrower_credential(self) -> None:
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET parent_node = ? WHERE uuid = ?',
                (self.nodes[0], self.nodes[1]),
            )
        self.assertEqual(deletion_case.GATES, self.check(self.gone))

    def test_with_a_shard_key_only_what_is_gone_goes(self) -> None:
        """A shard that was emptied by mistake loses nothing."""
        config = self.lab.configure(
            'sharded',
            policies='shard_key',
            ironic='shard_key = rack1',
            more=self.placement_section(),
        )
        self.run_json('delete', *self.nodes, '--yes', code=3, config=config)
        self.assert_all_kept()
        (row,) = self.run_json('delete', 'gone-1', '--yes', config=config)
        self.assertEqual(
            ('deleted', True), (row['result'], row['provider_deleted'])
        )
        self.assert_only_gone_is_deleted()
        event = self.lab.records.events(EventFilter(node_uuid=self.gone))[0]
        self.assertEqual(
            ('node_forgotten', 'rack1', 'node_gone'),
            (event.kind, event.from_host, event.reason),
        )
        self.assertIn('@', event.actor)
        self.assertTrue(self.proxy.lists)
        for query in self.proxy.lists:
            self.assertIn(('shard', 'rack1'), query)
