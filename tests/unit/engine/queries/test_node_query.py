"""A census believes Ironic about what a list lacks, and nothing else."""

from __future__ import annotations

import uuid as uuid_

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import ports
from ironic_ownership.engine.queries import node_query, node_status
from ironic_ownership.testing import fakes
from tests.unit.db import sqlite
from tests.unit.engine import world

SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('shard_key', {'shard_key': 's1'}),)
)
ALL, S1 = model.Scope(), model.Scope(shard='s1')


def node(name: str, shard: str | None = 's1') -> model.Node:
    return model.Node(
        str(uuid_.uuid5(uuid_.NAMESPACE_DNS, name)), name=name, shard=shard
    )


class CensusTest(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = fakes.FakeInventory()
        self.records = SqlRecords(self.open_with_schema())
        store = memory.MemoryStore()
        self.backend = memory.MemoryBackend(
            {}, member_ttl=60, call_timeout=1, store=store
        )
        self.backend.join('h1', 'i1', SETTINGS)
        self.epoch = self.records.register('h1', SETTINGS)
        self.ports = ports.Ports(
            self.records, self.ironic, self.backend, world.interpret
        )

    def claim(self, *nodes: model.Node) -> None:
        self.records.apply(
            'h1',
            self.epoch,
            [Claim(n, reasons.Reason.EXCLUSIVE) for n in nodes],
        )

    def states(self, scope=ALL, host='') -> dict[str, str]:
        found = node_query.take(self.ports, scope, host)
        return {
            (f.node or f.record).name: f.state.value for f in found.findings
        }

    def test_listed_nodes_are_not_looked_up(self) -> None:
        self.ironic.put(node('a'), node('b'))
        self.claim(node('a'))
        self.assertEqual({'a': 'owned', 'b': 'unowned'}, self.states())
        self.assertEqual(
            ['scan', 'conductors'],
            [method for method, _ in self.ironic.calls],
        )

    def test_only_404_makes_an_orphan(self) -> None:
        self.ironic.put(node('moved', shard='s2'))
        self.claim(node('moved'), node('gone'))
        self.assertEqual(
            {'moved': 'filtered', 'gone': 'orphan'}, self.states(S1)
        )

    def test_failing_look_up_fails_the_census(self) -> None:
        self.claim(node('a'))
        self.ironic.failures['get'] = exceptions.IronicUnavailableError('x')
        self.assertRaises(exceptions.IronicError, self.states, S1)

    def test_record_far_from_its_node_is_found(self) -> None:
        self.claim(node('a', shard='s2'))
        self.ironic.put(node('a'))
        (found,) = node_query.take(self.ports, S1).findings
        self.assertEqual('h1', found.record and found.record.host)

    def test_own_records_count_wherever_they_are(self) -> None:
        self.claim(node('far', shard='s3'))
        self.ironic.put(node('far', shard='s3'))
        self.assertEqual({}, self.states(S1))
        self.assertEqual({'far': 'filtered'}, self.states(S1, 'h1'))

    def test_services_are_those_on_record_and_the_members(self) -> None:
        self.records.register('h2', SETTINGS)
        found = node_query.take(self.ports, S1)
        self.assertEqual({'h1', 'h2'}, found.services)

    def test_one_node_is_asked_for_by_its_uuid_alone(self) -> None:
        self.ironic.put(node('a', shard='s9'))
        found = node_query.one(self.ports, node('a').uuid)
        self.assertEqual(node_status.State.UNOWNED, found and found.state)
        self.assertEqual(
            [('get', node('a').uuid), ('conductors', None)],
            self.ironic.calls,
        )
        self.assertIsNone(node_query.one(self.ports, node('b').uuid))

    def test_names_are_ironics_before_they_are_the_records(self) -> None:
        old, new = node('name'), model.Node(node('x').uuid, 'name', shard='s1')
        self.claim(old)
        # Gone, and nobody else has the name: the record's.
        self.assertEqual(
            (old.uuid, ()), node_query.find(self.ports, 'name', S1)
        )
        self.ironic.put(new)
        self.assertEqual(
            (new.uuid, ()), node_query.find(self.ports, 'name', S1)
        )

    def test_unknown_name_is_answered_with_the_known_ones(self) -> None:
        self.ironic.put(node('a'), node('far', shard='s9'))
        self.claim(node('b'))
        self.assertEqual(
            (None, ['a', 'b']), node_query.find(self.ports, 'c', S1)
        )
