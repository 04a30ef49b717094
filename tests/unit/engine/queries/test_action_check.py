"""Permission to act on a node, and the first reason against it."""

from __future__ import annotations

import dataclasses
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.queries import deployment, node_query
from tests.unit.engine import service, world


class TestActionCheck(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1, shard='a', driver='d', name='n'))
        self.host = self.start('host1', world.runs(shard_key='a'))
        self.host.refresh()
        self.ports = self.host.context.ports

    def check(self) -> deployment.NodeStatus:
        return node_query.check_action(self.ports, world.uuid(1))

    def put(self, **values) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        self.ironic.put(dataclasses.replace(node, **values))

    def refused(
        self, error: type[exceptions.OwnershipError], *words: str
    ) -> None:
        with self.assertRaises(error) as caught:
            self.check()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_own_node_in_service_is_its_owners(self) -> None:
        found = self.check()
        self.assertEqual(
            (world.uuid(1), 'n', 'host1', 'd', ('a', '')),
            (found.uuid, found.name, found.owner, found.driver, found.place),
        )

    def test_node_out_of_service_is_refused_by_driver_and_group(self) -> None:
        self.ironic.workers = [
            model.Conductor('c1', '', frozenset({'d'}), alive=False)
        ]
        refused = exceptions.NodeOutOfServiceError
        self.refused(refused, world.uuid(1), "'d'", 'default', 'c1')

    def test_out_of_service_comes_first_for_any_owner(self) -> None:
        self.ironic.workers = []
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.refused(exceptions.NodeOutOfServiceError)

    def test_ignored_outage_of_all_conductors_refuses_nothing(self) -> None:
        self.ironic.workers = []
        self.ironic.outage_counts = False
        self.assertEqual('host1', self.check().owner)

    def test_unowned_node_is_refused(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.refused(exceptions.NotOwnerError, 'explain')

    def test_owner_that_may_not_act_is_refused_by_its_name(self) -> None:
        for statement, word in (
            ('UPDATE services SET fenced = 1', 'fenced'),
            ('UPDATE services SET forced_down = 1', 'forced down'),
            ('DELETE FROM services', 'not alive'),
        ):
            self.operator(statement)
            self.refused(exceptions.FencedError, 'host1', word)

    def test_dead_owner_is_refused(self) -> None:
        self.host.backend.leave()
        self.refused(exceptions.FencedError, 'not alive')
        away = model.Service('host1', away=True)
        with mock.patch.object(self.records, 'services', return_value=[away]):
            self.refused(exceptions.FencedError, 'is expected back')

    def test_owner_that_stock_nova_serves_is_alive(self) -> None:
        self.host.backend.leave()
        stock = model.Service('host1', up_in_nova=True)
        with mock.patch.object(self.records, 'services', return_value=[stock]):
            self.assertTrue(self.check().owner_alive)

    def test_free_node_that_left_the_scope_is_refused(self) -> None:
        self.put(shard='b')
        self.refused(exceptions.WrongScopeError, 'shard is b')
        self.put(instance_uuid='i')
        self.assertEqual('host1', self.check().owner)
        self.host.refresh()
        # Gone from Ironic, and still on record.
        self.put(instance_uuid=None)
        self.assertEqual('host1', self.check().owner)
        with self.assertRaises(exceptions.WrongScopeError):
            node_query.check_action(
                self.ports, world.uuid(1), own_scope_only=True
            )

    def test_node_that_ironic_does_not_have_is_not_found(self) -> None:
        self.ironic.nodes.clear()
        self.refused(exceptions.NotFoundError)

    def test_ironic_that_does_not_answer_is_no_permission(self) -> None:
        down = exceptions.IronicUnavailableError('Ironic is down')
        self.ironic.failures = {'conductors': down}
        self.refused(exceptions.IronicUnavailableError)

    def test_conductors_that_are_not_shown_refuse_nothing(self) -> None:
        self.ironic.failures = {'conductors': exceptions.IronicError('403')}
        self.assertEqual('host1', self.check().owner)
