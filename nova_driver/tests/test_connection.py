from __future__ import annotations

import types
import unittest
from unittest import mock

from ironic_ownership.embedding import exceptions
from ironic_ownership_nova.connection import (
    ActionGuard,
    GuardedConnection,
    Operation,
)
from tests import support


class _RefusedError(Exception):
    pass


class _OutsideError(Exception):
    pass


class ConnectionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.permit = support.Guard()
        self.adapter = mock.Mock(retriable_status_codes=[503])
        self.guard = ActionGuard(self.permit, _OutsideError)
        self.connection = GuardedConnection(self.adapter, self.guard)

    def operation(self, **fields: str | None) -> Operation:
        return Operation('spawn', _RefusedError, **fields)

    def test_reads_are_free(self) -> None:
        self.connection.get_node(support.FREE)
        self.connection.nodes(instance_id='x')
        self.connection.get('/v1/nodes')
        self.assertEqual([503], self.connection.retriable_status_codes)
        self.assertEqual([], self.permit.asked)

    def test_write_asks_for_the_node_that_it_names(self) -> None:
        node = types.SimpleNamespace(id=support.FREE)
        for call in (
            lambda: self.connection.update_node(node, instance_id=None),
            lambda: self.connection.set_node_power_state(
                support.FREE, 'power on'
            ),
            lambda: self.connection.create_volume_target(
                node_id=support.FREE, volume_type='iscsi'
            ),
        ):
            self.permit.asked.clear()
            call()
            self.assertEqual([(support.FREE, None)], self.permit.asked)
        self.adapter.update_node.assert_called_once_with(
            node, instance_id=None
        )

    def test_unknown_request_counts_as_a_write(self) -> None:
        with self.assertRaisesRegex(_OutsideError, 'the node is not known'):
            self.connection.post('/v1/nodes')
        self.adapter.post.assert_not_called()

    def test_refusal_is_the_one_of_the_operation(self) -> None:
        self.permit.refusal = exceptions.FencedError('fenced')
        with (
            self.guard.operation(self.operation()),
            self.assertRaisesRegex(_RefusedError, 'fenced'),
        ):
            self.connection.set_node_power_state(support.FREE, 'reboot')
        with self.assertRaisesRegex(_OutsideError, 'fenced'):
            self.connection.set_node_power_state(support.FREE, 'reboot')
        self.adapter.set_node_power_state.assert_not_called()

    def test_permission_that_ended_is_confirmed(self) -> None:
        permission = self.permit.permission
        operation = self.operation(node=support.FREE, instance_uuid='i')
        with self.guard.operation(operation):
            # A write without a node is for that of the instance.
            self.connection.delete_volume_target('target')
            self.connection.attach_vif_to_node(support.FREE, 'port')
            self.assertEqual(0, permission.confirmed)
            permission.is_valid = False
            self.connection.set_node_power_state(support.FREE, 'reboot')
            self.assertEqual(1, permission.confirmed)
            # A process that was frozen in an operation does not go on.
            permission.refusal = exceptions.FencedError('taken over')
            with self.assertRaisesRegex(_RefusedError, 'taken over'):
                self.connection.set_node_provision_state(
                    support.FREE, 'active'
                )
        self.adapter.set_node_provision_state.assert_not_called()
        self.assertEqual([(support.FREE, 'i')], self.permit.asked)

    def test_inner_operation_is_part_of_the_outer(self) -> None:
        self.permit.refusal = exceptions.FencedError('fenced')
        with (
            self.guard.operation(self.operation()),
            self.assertRaises(_RefusedError),
            self.guard.operation(Operation('unplug_vifs', _OutsideError)),
        ):
            self.connection.detach_vif_from_node(support.FREE, 'port')
