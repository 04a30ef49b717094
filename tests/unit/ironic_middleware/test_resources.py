"""Requests that change a node, as Ironic's routing sees them."""

from __future__ import annotations

import unittest

from ironic_ownership_middleware.resources import change

UUID = '11111111-2222-4333-8444-55555555aaaa'


class ResourcesTest(unittest.TestCase):
    def test_reads_change_nothing(self) -> None:
        for method in ('GET', 'HEAD', 'OPTIONS'):
            self.assertIsNone(change(method, f'/v1/nodes/{UUID}'))

    def test_changes_below_a_node_name_it(self) -> None:
        for method, rest in (
            ('PATCH', ''),
            ('DELETE', ''),
            ('DELETE', '/'),
            ('PUT', '/states/power'),
            ('PUT', '/states/provision'),
            ('PUT', '/states/raid'),
            ('PUT', '/states/console'),
            ('PUT', '/maintenance'),
            ('DELETE', '/maintenance'),
            ('POST', '/vifs'),
            ('DELETE', f'/vifs/{UUID}'),
            ('PUT', '/traits'),
            ('PUT', '/traits/CUSTOM_X'),
            ('POST', '/volume/targets'),
            ('PUT', '/management/boot_device'),
            ('PUT', '/management/inject_nmi'),
            ('POST', '/vendor_passthru'),
            ('POST', '/vmedia'),
            ('DELETE', '/allocation'),
        ):
            found = change(method, f'/v1/nodes/{UUID}{rest}')
            self.assertEqual({UUID}, found and found.uuids, rest)
            self.assertEqual(frozenset(), found and found.names)

    def test_every_spelling_that_ironic_accepts_is_the_same_node(self) -> None:
        for path in (
            f'/nodes/{UUID}',
            f'//v1//nodes//{UUID}/',
            f'/v1/nodes/{UUID.upper()}',
            f'/v1/nodes/{UUID.replace("-", "")}',
            f'/v1/nodes/{UUID}.json',
        ):
            found = change('PATCH', path)
            self.assertEqual({UUID}, found and found.uuids, path)
        found = change('PUT', '/v1/nodes/maintenance', f'node_ident={UUID}')
        self.assertEqual({UUID}, found and found.uuids)

    def test_method_in_the_query_counts(self) -> None:
        for query in (
            *('_method=patch', 'a=b&_method=POST'),
            '%5fm%65thod=patch',
        ):
            found = change('GET', f'/v1/nodes/{UUID}', query)
            self.assertEqual({UUID}, found and found.uuids)
        self.assertIsNone(change('GET', f'/v1/nodes/{UUID}', '_method=get'))
        self.assertIsNotNone(change('PATCH', f'/nodes/{UUID}', '_method=get'))

    def test_names_are_names(self) -> None:
        for name in ('rack1-node1', 'v1', 'nodes', '1.2.3'):
            found = change('PUT', f'/v1/nodes/{name}/states/power')
            self.assertEqual({name}, found and found.names)
            self.assertEqual(frozenset(), found and found.uuids)
        found = change('PATCH', '/v1/nodes/rack1.json')
        self.assertEqual({'rack1', 'rack1.json'}, found and found.names)

    def test_names_of_the_length_of_a_uuid_are_names(self) -> None:
        # int() reads them as hexadecimal digits, and so does uuid.UUID.
        for name in ('1_' * 15 + '11', '0x' + '1' * 30, '\u0661' * 32):
            found = change('PATCH', f'/v1/nodes/{name}')
            self.assertEqual({name}, found and found.names)
            self.assertEqual(frozenset(), found and found.uuids)

    def test_suffix_of_a_collection_hides_nothing(self) -> None:
        # By its version, Ironic takes it off before it routes.
        for path in ('/v1/nodes.json', '/ports.json', '/v1/allocations.json/'):
            found = change('POST', path)
            self.assertEqual(frozenset(), found and found.idents, path)

    def test_nodes_below_a_chassis_are_nodes(self) -> None:
        # Ironic takes the uuid of the chassis for that of the node.
        for path in (
            f'/v1/chassis/{UUID}/nodes/states/power',
            f'/chassis/{UUID}/x/nodes/maintenance',
            f'/v1/chassis/x/y/nodes/{UUID}/vifs',
        ):
            found = change('PUT', path)
            self.assertEqual({UUID}, found and found.uuids, path)

    def test_path_without_v1_hides_nothing(self) -> None:
        found = change('PUT', '/nodes/v1/states/power')
        self.assertEqual({'v1'}, found and found.names)

    def test_enrolment_names_no_node(self) -> None:
        found = change('POST', '/v1/nodes')
        self.assertEqual(frozenset(), found and found.idents)

    def test_what_belongs_to_a_node_has_a_uuid_of_its_own(self) -> None:
        for path in (
            '/v1/ports',
            f'/v1/ports/{UUID}',
            f'/v1/portgroups/{UUID}',
            '/v1/volume/connectors',
            f'/v1/volume/targets/{UUID}',
            f'/v1/allocations/{UUID}',
        ):
            found = change('DELETE', path)
            self.assertEqual(frozenset(), found and found.idents, path)

    def test_other_resources_are_no_changes_of_nodes(self) -> None:
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
