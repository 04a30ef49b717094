"""Queries for single nodes: by uuid alone, and by name."""

from __future__ import annotations

import dataclasses
import uuid as uuid_
from unittest import mock

from ironic_ownership.api.resources import compute_nodes
from ironic_ownership.contracts import exceptions, model, policy, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision import peer_groups
from ironic_ownership.engine.queries import deployment, explanation, node_query
from tests.unit.engine import service, world

ALL, S1 = model.Scope(), model.Scope(shard='s1')


def node(name: str, shard: str | None = 's1') -> model.Node:
    return model.Node(
        str(uuid_.uuid5(uuid_.NAMESPACE_DNS, name)), name=name, shard=shard
    )


class FailingPeers(policy.AssignerPolicy):
    """Knows no peers."""

    contract_version = 1

    def peers(self, host, candidates, scope):
        raise LookupError('a bad mood')

    def assign(self, nodes, hosts):
        return [hosts[0] for _ in nodes]


class QueryCase(service.ServiceCase):
    """A service with records and an Ironic without nodes."""

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(
            mock.patch.dict(world.CLASSES, {'failing_peers': FailingPeers})
        )
        self.host = self.start('h1', world.runs(shard_key='s1'))
        self.ports = self.host.context.ports

    def join_failing(self, where: str) -> None:
        """Let h2 join, whose policies fail."""
        runs = {
            'peers': world.runs(shard_key='s2', failing_peers=None),
            'admits': world.runs(shard_key='s2', fails='admits'),
            'scope': world.runs(fails='scope'),
        }[where]
        # A whole service with such policies does not start.
        other = service.Service('h2', world.ALL, self.shared)
        other.backend.join('h2', 'i2', runs)
        self.records.register('h2', runs)

    def claim(self, *nodes: model.Node) -> None:
        self.records.apply(
            'h1',
            self.host.fence.epoch(),
            [Claim(n, reasons.Reason.EXCLUSIVE) for n in nodes],
        )


class NodeQueryTest(QueryCase):
    def test_one_node_is_asked_for_by_its_uuid_alone(self) -> None:
        self.ironic.put(node('a', shard='s9'))
        found = explanation.explain_node(self.ports, node('a').uuid)
        assert found is not None
        self.assertEqual(deployment.State.UNOWNED, found.status.state)
        self.assertEqual(
            [('get', node('a').uuid), ('conductors', None)], self.ironic.calls
        )
        self.assertIsNone(explanation.explain_node(self.ports, node('b').uuid))

    def test_policies_of_another_service_that_fail_hide_no_node(self) -> None:
        self.ironic.put(node('a'), node('theirs', shard='s2'))
        for where in ('admits', 'peers'):
            self.join_failing(where)
            with self.assertLogs(peer_groups.__name__, 'WARNING') as logged:
                mine = explanation.explain_node(self.ports, node('a').uuid)
                found = explanation.explain_node(
                    self.ports, node('theirs').uuid
                )
            self.assertIn('h2 fail', logged.output[-1])
            assert found is not None
            assert mine is not None
            self.assertEqual('h1', mine.decision.owner)
            self.assertEqual(reasons.Reason.UNDECIDED, found.decision.reason)
            self.assertEqual(('h2',), found.decision.contenders)

    def test_name_in_ironic_comes_before_the_recorded_one(self) -> None:
        old, new = node('name'), model.Node(node('x').uuid, 'name', shard='s1')
        self.claim(old)
        # Gone, and no other node has the name: the recorded one.
        self.assertEqual(old.uuid, node_query.find(self.ports, 'name'))
        self.ironic.put(new)
        self.assertEqual(new.uuid, node_query.find(self.ports, 'name'))

    def test_name_of_two_records_is_refused(self) -> None:
        """Both are gone, or were renamed, and no other node has the name."""
        for number in (1, 2):
            self.claim(model.Node(world.uuid(number), 'name', shard='s1'))
        with self.assertRaises(exceptions.RequestError) as caught:
            node_query.find(self.ports, 'name')
        self.assertIn('2 nodes on record', str(caught.exception))

    def test_nodes_without_a_name_are_registered(self) -> None:
        self.claim(model.Node(world.uuid(1), shard='s1'))
        with self.assertRaises(exceptions.NotFoundError) as caught:
            node_query.find(self.ports, 'name')
        (found,) = suggestions.resolve(self.records, ['name'])
        for text in (str(caught.exception), found.fault):
            self.assertEqual(
                "node 'name' is not known. No node on record has a name", text
            )

    def test_name_and_instance_are_looked_up_in_one_request_each(self) -> None:
        instance = str(uuid_.uuid4())
        far = dataclasses.replace(
            node('far', shard='s9'), instance_uuid=instance
        )
        self.ironic.put(far)
        self.assertEqual(far.uuid, node_query.find(self.ports, 'far'))
        self.assertEqual(
            far.uuid, compute_nodes.node_of_instance(self.ports, instance)
        )
        self.assertEqual(
            [('node_named', 'far'), ('node_of_instance', instance)],
            self.ironic.calls,
        )
        self.assertIsNone(compute_nodes.node_of_instance(self.ports, far.uuid))
