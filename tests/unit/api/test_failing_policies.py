"""Policies of one service that fail hide nothing of the others."""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.engine import availability
from ironic_ownership.engine.checks import node_validation
from ironic_ownership.engine.decision import peer_groups
from ironic_ownership.engine.queries import balance, deployment, service_status
from tests.unit.engine.queries.test_node_query import QueryCase, node


class FailingPoliciesTest(QueryCase):
    def setUp(self) -> None:
        super().setUp()
        self.join_failing('peers')
        worker = model.Conductor('c', drivers=frozenset({'ipmi'}))
        self.seen = deployment.Deployment(
            self.ports.interpret,
            {row.host: row for row in self.records.services()},
            self.ports.backend.view(),
            nodes={node('a').uuid: node('a')},
            conductors=availability.Conductors.of([worker]),
            on_fault=peer_groups.tolerant(),
        )

    def test_load_of_the_other_service_is_known(self) -> None:
        listing, _ = service_status.read(self.records, self.ports.backend)
        with self.assertLogs(peer_groups.__name__, 'WARNING'):
            found, _ = balance.add_load(listing, self.seen)
        self.assertEqual(2, len(found))

    def test_node_is_admitted_by_the_other_service(self) -> None:
        good = {'driver': 'ipmi', 'resource_class': 'x', 'shard': 's1'}
        entries = node_validation.entries_of([good, {**good, 'shard': 's9'}])
        assert entries is not None
        with self.assertLogs(peer_groups.__name__, 'WARNING'):
            found = node_validation.validate(entries, self.seen)
        self.assertEqual(
            [('[1]', 'not_admitted')], [(f.entry.place, f.code) for f in found]
        )
