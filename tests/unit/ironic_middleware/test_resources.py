"""Requests that change a node, as Ironic's routing sees them."""

from __future__ import annotations

import unittest

from ironic_ownership_middleware.resources import as_recorded, change

UUID = '11111111-2222-4333-8444-55555555aaaa'
UUIDS = frozenset({UUID})
NOTHING: frozenset[str] = frozenset()


class ResourcesTest(unittest.TestCase):
    def changed(
        self, method: str, path: str, query: str = ''
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return uuids and names of the nodes that a request changes."""
        found = change(method, path, query)
        assert found is not None, (method, path, query)
        return as_recorded(found)

    def test_reads_and_other_resources_change_no_node(self) -> None:
        for method in ('GET', 'HEAD', 'OPTIONS'):
            self.assertIsNone(change(method, f'/v1/nodes/{UUID}'))
        for path in (
            '/v1/chassis',
            f'/v1/chassis/{UUID}',
            '/v1/heartbeat/x',
            '/v1/continue_inspection',
            '/v1/deploy_templates',
            '/',
            '',
        ):
            self.assertIsNone(change('POST', path), path)

    def test_changes_below_a_node_name_it(self) -> None:
        for method, rest in (
            ('PATCH', ''),
            ('DELETE', ''),
            ('DELETE', '/'),
            ('PUT', '/states/power'),
            ('PUT', '/maintenance'),
            ('DELETE', '/maintenance'),
            ('POST', '/vifs'),
            ('DELETE', f'/vifs/{UUID[:-1]}b'),
            ('PUT', '/traits/CUSTOM_X'),
            ('POST', '/volume/targets'),
            ('PUT', '/management/inject_nmi'),
            ('POST', '/vendor_passthru'),
            ('DELETE', '/allocation'),
        ):
            found = self.changed(method, f'/v1/nodes/{UUID}{rest}')
            self.assertEqual((UUIDS, NOTHING), found, rest)

    def test_every_spelling_that_ironic_accepts_is_the_same_node(self) -> None:
        for path in (
            f'/nodes/{UUID}',
            f'//v1//nodes//{UUID}/',
            f'/v1/nodes/{UUID.upper()}',
            f'/v1/nodes/{UUID.replace("-", "")}',
            f'/v1/nodes/{UUID}.json',
            # Ironic takes the uuid of the chassis for that of the node.
            f'/v1/chassis/{UUID}/nodes/states/power',
            f'/chassis/{UUID}/x/nodes/maintenance',
            f'/v1/chassis/x/y/nodes/{UUID}/vifs',
        ):
            found, _ = self.changed('PUT', path)
            self.assertEqual(UUIDS, found, path)
        query = f'node_ident={UUID}'
        found, _ = self.changed('PUT', '/v1/nodes/maintenance', query)
        self.assertEqual(UUIDS, found)

    def test_method_in_the_query_counts(self) -> None:
        for query in (
            '_method=patch',
            'a=b&_method=POST',
            '%5fm%65thod=patch',
        ):
            found, _ = self.changed('GET', f'/v1/nodes/{UUID}', query)
            self.assertEqual(UUIDS, found, query)
        self.assertIsNone(change('GET', f'/v1/nodes/{UUID}', '_method=get'))
        self.assertIsNotNone(change('PATCH', f'/nodes/{UUID}', '_method=get'))

    def test_names_are_names(self) -> None:
        # int() reads the last three as hexadecimal digits, as uuid.UUID does.
        for name in (
            'rack1-node1',
            'v1',
            'nodes',
            '1.2.3',
            '1_' * 15 + '11',
            '0x' + '1' * 30,
            '\u0661' * 32,
        ):
            found = self.changed('PUT', f'/v1/nodes/{name}/states/power')
            self.assertEqual((NOTHING, frozenset({name})), found)
        for path, names in (
            ('/v1/nodes/rack1.json', {'rack1', 'rack1.json'}),
            # Without the version it hides nothing.
            ('/nodes/v1/states/power', {'v1'}),
        ):
            self.assertEqual((NOTHING, names), self.changed('PUT', path))

    def test_what_belongs_to_a_node_has_a_uuid_of_its_own(self) -> None:
        for path in (
            '/v1/ports',
            f'/v1/ports/{UUID}',
            f'/v1/portgroups/{UUID}',
            '/v1/volume/connectors',
            f'/v1/volume/targets/{UUID}',
            f'/v1/allocations/{UUID}',
            # A new node has none yet.
            '/v1/nodes',
            # By its version, Ironic takes a suffix off before it routes.
            '/v1/nodes.json',
            '/ports.json',
            '/v1/allocations.json/',
        ):
            found = self.changed('POST', path)
            self.assertEqual((NOTHING, NOTHING), found, path)
