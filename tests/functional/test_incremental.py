"""Incremental reads of a real Ironic, against lists of all its nodes."""

from __future__ import annotations

import random

from ironic_ownership.contracts import model
from ironic_ownership.engine.host.fleet_reader import FleetReader
from tests.functional.support import ironics

SCOPES = (
    model.Scope(),
    model.Scope(shard='Rack1'),
    model.Scope(conductor_group='g'),
    model.Scope(shard='Rack1', conductor_group='g'),
)
NODES, ROUNDS, SEED = 60, 12, 16


class RandomChangesTest(ironics.IronicTestCase):
    """Nodes are created, changed, deleted and moved in random order."""

    def setUp(self) -> None:
        super().setUp()
        self.random = random.Random(SEED)
        for shard in ('Rack1', 'rack1', None):
            for group in ('', 'g'):
                self.enrolment.enrol(
                    NODES // 6, shard=shard, conductor_group=group
                )
        # Long before the first read, unlike the changes.
        self.enrolment.age()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.bare_metal = ironics.open_ironic(self.proxy.url)
        self.readers = {
            scope: FleetReader(self.bare_metal, 'host1', 10**9)
            for scope in SCOPES
        }
        for scope, reader in self.readers.items():
            self.assertIsNone(reader.read(scope).changed)

    def test_fleet_is_that_of_a_list_of_all(self) -> None:
        incremental_reads = whole_reads = 0
        for number in range(ROUNDS):
            for _ in range(self.random.randint(0, 4)):
                self.change(number)
            for scope, reader in self.readers.items():
                fleet = reader.read(scope)
                incremental_reads += fleet.changed is not None
                whole_reads += fleet.changed is None
                self.compare(scope, fleet.nodes)
        self.assertGreater(incremental_reads, ROUNDS)
        self.assertGreater(whole_reads, 0)
        for scope, reader in self.readers.items():
            reader.require_whole()
            self.assertCountEqual(
                self.bare_metal.scan(scope), reader.read(scope).nodes.values()
            )

    def test_steady_read_is_two_requests_and_shards_stay_filtered(
        self,
    ) -> None:
        self.proxy.requests.clear()
        for scope, reader in self.readers.items():
            before = len(self.proxy.requests)
            self.assertIsNotNone(reader.read(scope).changed)
            paths = [path for path, _, _ in self.proxy.requests[before:]]
            self.assertEqual(['/v1/nodes/detail', '/v1/shards'], paths)
            _, query, _ = self.proxy.requests[before]
            shards = {value for name, value in query if name == 'shard'}
            self.assertEqual({scope.shard} - {None}, shards)

    def change(self, number: int) -> None:
        """Change something, as operators and conductors do."""
        nodes = self.bare_metal.scan(model.Scope())
        node = self.random.choice(nodes)
        kind = self.random.choice(
            ('create', 'delete', 'shard', 'group', 'maintenance', 'trait')
        )
        if kind == 'create':
            (uuid,) = self.enrolment.enrol(
                1,
                shard=self.random.choice(('Rack1', None)),
                conductor_group=self.random.choice(('', 'g')),
            )
            with self.server.sql() as database:
                database.execute(
                    'UPDATE nodes SET updated_at = NULL WHERE uuid = ?',
                    (uuid,),
                )
        elif kind == 'delete':
            self.enrolment.delete(node.uuid)
        elif kind == 'shard':
            shard = None if node.shard == 'Rack1' else 'Rack1'
            self.enrolment.set_shard(node.uuid, shard)
        elif kind == 'group':
            group = '' if node.conductor_group else 'g'
            self.enrolment.set_conductor_group(node.uuid, group)
        elif kind == 'maintenance':
            self.enrolment.set_maintenance(node.uuid, not node.maintenance)
        elif not node.conductor_group:  # its conductor is a real one
            self.server.request(
                'PUT', f'/nodes/{node.uuid}/traits/CUSTOM_ROUND_{number}'
            )

    def compare(self, scope: model.Scope, fleet: object) -> None:
        """Compare a fleet with a list of all nodes.

        Only a new node that never changed may be unseen, and only if another
        one was deleted, or left the shard.
        """
        truth = {node.uuid: node for node in self.bare_metal.scan(scope)}
        for uuid in fleet.keys() & truth.keys():
            self.assertEqual(truth[uuid], fleet[uuid])
        unseen, stale = (
            truth.keys() - fleet.keys(),
            fleet.keys() - truth.keys(),
        )
        self.assertFalse(unseen & self.changed())
        counted = model.Scope(shard=scope.shard)
        for uuid in stale:
            node = self.bare_metal.get(uuid)
            self.assertFalse(
                node and counted.matches(node.shard, node.conductor_group)
            )
        if scope.conductor_group is None:
            self.assertEqual(len(unseen), len(stale))

    def changed(self) -> set[str]:
        with self.server.sql() as database:
            rows = database.execute(
                'SELECT uuid FROM nodes WHERE updated_at IS NOT NULL'
            )
            return {row['uuid'] for row in rows}
