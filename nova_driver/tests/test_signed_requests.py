"""Every request of Nova's driver that changes a node has the header."""

from __future__ import annotations

import ast
import inspect
import io
import json
import types
import unittest
from typing import Any

import openstack
import requests
from nova.virt.ironic import driver as ironic_driver

from ironic_ownership.embedding import exceptions
from ironic_ownership_nova import connection
from ironic_ownership_nova.connection import (
    ActionGuard,
    GuardedConnection,
    Operation,
)
from tests import support

HEADER = 'X-Ironic-Ownership'
NODE = support.FREE
URL = 'http://ironic:6385'

READS = frozenset(
    (
        *('get_node', 'get_node_console', 'nodes', 'port_groups', 'ports'),
        *('validate_node', 'volume_connectors', 'volume_targets'),
    )
)
WRITES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    'attach_vif_to_node': ((NODE, 'vif'), {'retry_on_conflict': False}),
    'create_volume_target': (
        (),
        {'node_id': NODE, 'volume_type': 'x', 'volume_id': 'v'},
    ),
    'delete_volume_target': (('target',), {}),
    'detach_vif_from_node': ((NODE, 'vif'), {}),
    'disable_node_console': ((NODE,), {}),
    'enable_node_console': ((NODE,), {}),
    'inject_nmi_to_node': ((NODE,), {}),
    'patch_node': (
        (NODE, [{'op': 'add', 'path': '/extra/a', 'value': 'b'}]),
        {},
    ),
    'set_node_power_state': ((NODE, 'power on'), {}),
    'set_node_provision_state': ((NODE, 'active'), {}),
    'update_node': ((NODE,), {'instance_id': 'x'}),
}
"""What Nova's driver calls, with arguments."""


class _Ironic(requests.adapters.BaseAdapter):
    """Accepts every request, and keeps those that change something."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[str, str, str | None]] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}

    def send(
        self, request: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        answer = requests.Response()
        answer.status_code = 200
        if request.method != 'GET':
            header = request.headers.get(HEADER)
            self.changes.append((request.method, request.path_url, header))
            if self.statuses:
                answer.status_code = self.statuses.pop()
                answer.headers.update(self.headers)
        for edge, value in (('Minimum', '1.1'), ('Maximum', '1.115')):
            name = f'X-OpenStack-Ironic-API-{edge}-Version'
            answer.headers[name] = value
        answer.headers['Content-Type'] = 'application/json'
        answer.raw = io.BytesIO(
            json.dumps(self.document(request.path_url)).encode()
        )
        answer.request, answer.url = request, request.url
        return answer

    def close(self) -> None:
        """Nothing is open."""

    def document(self, path: str) -> dict[str, Any]:
        v1 = {
            'id': 'v1',
            'status': 'CURRENT',
            'min_version': '1.1',
            'version': '1.115',
            'links': [{'rel': 'self', 'href': f'{URL}/v1/'}],
        }
        if path == '/':
            return {'default_version': v1, 'versions': [v1]}
        if path.rstrip('/') == '/v1':
            return {**v1, 'version': v1}
        return {'uuid': NODE, 'provision_state': 'available', 'vifs': []}


class SignedRequestsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ironic = _Ironic()
        self.permit = support.Guard()
        self.guard = ActionGuard(self.permit, RuntimeError)
        cloud = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            auth={'endpoint': URL},
        )
        cloud.session.session.mount(URL, self.ironic)
        adapter = cloud.baremetal
        # Nova's driver gets a new one for each access.
        GuardedConnection(adapter, self.guard)
        self.connection = GuardedConnection(adapter, self.guard)

    def call(self, name: str) -> None:
        args, kwargs = WRITES[name]
        operation = Operation('spawn', RuntimeError, node=NODE)
        with self.guard.operation(operation):
            getattr(self.connection, name)(*args, **kwargs)

    def test_all_that_novas_driver_calls_is_known_here(self) -> None:
        tree = ast.parse(inspect.getsource(ironic_driver))
        called = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == 'ironic_connection'
        }
        reads = {
            name
            for name in called
            if name in connection._READS
            or name.startswith(connection._READ_PREFIXES)
        }
        self.assertEqual({*WRITES}, called - reads)
        self.assertLessEqual(READS, reads)

    def test_no_change_goes_without_the_header(self) -> None:
        for name in WRITES:
            self.ironic.changes.clear()
            self.call(name)
            self.assertTrue(self.ironic.changes, name)
            for method, path, header in self.ironic.changes:
                self.assertEqual(f'7 {method}', header, f'{name}: {path}')

    def test_each_attempt_is_signed_again(self) -> None:
        self.ironic.statuses = [200, 503]
        self.call('set_node_power_state')
        headers = [header for _, _, header in self.ironic.changes]
        self.assertEqual(['7 PUT', '7 PUT'], headers)

    def test_attempt_after_the_end_of_the_permission_is_not_sent(
        self,
    ) -> None:
        """Openstacksdk repeats a request for a quarter of a minute."""
        permission = self.permit.permission
        sign = permission.headers

        def end(*request: str) -> dict[str, str]:
            permission.is_valid = False
            return sign(*request)

        permission.headers = end
        self.ironic.statuses = [200, 503]
        self.call('set_node_power_state')
        self.assertEqual(1, permission.confirmed)
        self.ironic.changes.clear()
        permission.is_valid = True
        permission.refusal = exceptions.FencedError('taken over')
        self.ironic.statuses = [200, 503]
        with self.assertRaisesRegex(RuntimeError, 'taken over'):
            self.call('set_node_power_state')
        self.assertEqual(1, len(self.ironic.changes))

    def test_refusal_of_the_middleware_is_that_of_the_operation(self) -> None:
        """Nova takes a 409 of Ironic for a VIF that is attached already."""
        for status in (409, 403):
            for headers, error in (
                ({HEADER: 'not_owner'}, RuntimeError),
                ({}, openstack.exceptions.HttpException),
            ):
                self.ironic.statuses, self.ironic.headers = [status], headers
                with self.assertRaises(error):
                    self.call('attach_vif_to_node')

    def test_no_change_bypasses_the_guard(self) -> None:
        reading = self.connection.get
        self.connection.get_node(NODE)
        self.assertEqual(200, reading('/nodes').status_code)
        # A method that counts as a read, in a later release.
        request = types.SimpleNamespace(
            method='PUT', path_url='/v1/nodes/x', headers={}
        )
        with self.assertRaisesRegex(RuntimeError, 'no permission'):
            self.guard.sign(request)
        with self.assertRaisesRegex(RuntimeError, 'no permission'):
            self.connection._adapter.put('/nodes/x/maintenance', json={})
        self.assertEqual([], self.ironic.changes)
