"""The contract of clients: one operation, wherever its handler runs."""

from __future__ import annotations

import json

import jsonschema

from ironic_ownership.api.operation import find_operation
from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Update
from tests.unit.engine import world
from tests.unit.web import app_case

NODE = world.uuid(1)
MOVE = {'service': 'new', 'select': {'uuids': [NODE]}}
UNKNOWN = world.uuid(99)
ONE = {'limit': 1}


class OperationClientContract(app_case.SiteCase):
    """``old`` owns nodes 1 to 6 and is disabled, ``new`` is alive."""

    client: OperationClient

    def fail_with(
        self, name: str, **request: object
    ) -> exceptions.OwnershipError:
        with self.assertRaises(exceptions.OwnershipError) as caught:
            self.client.call(name, **request)  # type: ignore[arg-type]
        return caught.exception

    def test_list_is_whole(self) -> None:
        found = self.client.call('compute_node:list')
        self.assertEqual(
            [world.uuid(number) for number in range(1, 7)],
            [item['uuid'] for item in found['compute_nodes']],
        )
        self.assertEqual((None, []), (found['next'], found['warnings']))

    def test_pages_make_the_whole_list(self) -> None:
        for name, key in (
            ('compute_node:list', 'compute_nodes'),
            ('compute_node_record:list', 'compute_node_records'),
        ):
            for limit in (1, 2, 4, 6, 7, None):
                pages = [*self.client.pages(name, query={'limit': limit})]
                self.assertEqual(
                    self.client.call(name)[key],
                    [item for page in pages for item in page[key]],
                )
                if limit is not None:
                    largest = max(len(page[key]) for page in pages)
                    self.assertLessEqual(largest, limit)

    def test_pages_have_the_filters_of_the_query(self) -> None:
        pages = self.client.pages(
            'compute_node:list',
            query={'shard': 'a', 'state': ['owned', 'orphan'], 'limit': 2},
        )
        self.assertEqual(
            [[world.uuid(1), world.uuid(3)], [world.uuid(5)]],
            [[item['uuid'] for item in p['compute_nodes']] for p in pages],
        )

    def test_list_without_anything_is_one_page(self) -> None:
        query = {'service': 'new'}
        (page,) = self.client.pages('compute_node_record:list', query=query)
        self.assertEqual([], page['compute_node_records'])

    def test_page_is_read_when_it_is_needed(self) -> None:
        pages = self.client.pages('compute_node_record:list', query=ONE)
        (first,) = next(pages)['compute_node_records']
        renamed = world.node(2, name='renamed', shard='b')
        self.records.apply('old', self.epoch, [Update(renamed)])
        (second,) = next(pages)['compute_node_records']
        self.assertEqual(['node1', 'renamed'], [first['name'], second['name']])

    def test_pages_of_one_walk_show_one_moment_of_ironic(self) -> None:
        pages = self.client.pages('compute_node:list', query=ONE)
        next(pages)
        lists = len(self.ironic.calls)
        self.assertEqual(5, len([*pages]))
        self.assertEqual(lists, len(self.ironic.calls))

    def test_unknown_names_are_refused_by_pages_as_well(self) -> None:
        pages = self.client.pages(
            'compute_node_record:list', query={'service': 'odl'}
        )
        with self.assertRaises(exceptions.OwnershipError) as caught:
            next(pages)
        self.assertEqual('not_found', caught.exception.code)

    def test_limit_is_that_of_the_whole_list(self) -> None:
        for limit in (1, 2, 4, 6, 7, 10**8):
            found = self.client.call(
                'compute_node:list', query={'limit': limit}
            )
            self.assertEqual(min(limit, 6), len(found['compute_nodes']))
            self.assertIsNone(found['next'])
            self.assertEqual(int(limit < 6), len(found.get('notes', ())))

    def test_query_is_typed_and_none_is_left_out(self) -> None:
        found = self.client.call(
            'compute_node:list',
            query={
                'shard': 'a',
                'service': None,
                'state': ['owned', 'orphan'],
                'conductor_group': '',
            },
        )
        self.assertEqual(3, len(found['compute_nodes']))
        found = self.client.call('service:list', query={'long': True})
        self.assertIn('of_mean', found['services'][0])

    def test_path_names_one_resource(self) -> None:
        for name in (NODE, NODE.upper(), 'node1'):
            found = self.client.call('compute_node:show', path={'node': name})
            self.assertEqual(NODE, found['uuid'])

    def test_body_is_sent(self) -> None:
        found = self.client.call('move:create', body={**MOVE, 'dry_run': True})
        self.assertEqual([NODE], [item['uuid'] for item in found['nodes']])
        self.assertEqual([], self.client.call('move:list')['moves'])

    def test_error_keeps_code_message_and_hint(self) -> None:
        error = self.fail_with('service:show', path={'host': 'nwe'})
        self.assertEqual(
            (
                'not_found',
                "service 'nwe' is not known. Did you mean new?",
                'Did you mean new?',
                {},
            ),
            (error.code, str(error), error.hint, error.details),
        )

    def test_error_keeps_its_details(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        error = self.fail_with('move:create', body=MOVE)
        self.assertEqual('gates_failed', error.code)
        (node,) = error.details['nodes']
        self.assertEqual(NODE, node['uuid'])
        self.assertTrue(error.hint)

    def test_outage_has_its_code(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError(
            'down', hint='Start it'
        )
        error = self.fail_with('compute_node:list')
        self.assertEqual('ironic_unavailable', error.code)
        self.assertEqual('down. Start it', str(error))

    def test_impossible_scenario_is_explained(self) -> None:
        error = self.fail_with('ring:preview', query={'with': ['new']})
        self.assertEqual('impossible_scenario', error.code)
        self.assertIn('new is a member already', str(error))

    def test_name_that_cannot_exist_is_not_known(self) -> None:
        for name in ('', '.', '..', '../members', 'a/b', 'a b', 'a?b', 'x\n'):
            for operation, path in (
                ('service:show', {'host': name}),
                ('compute_node:explain', {'node': name}),
                ('move:show', {'request_id': name}),
            ):
                error = self.fail_with(operation, path=path)
                self.assertEqual('not_found', error.code, (operation, name))
                self.assertIn(repr(name), str(error))
        for query in ({'service': ''}, {'shard': 'a\nb'}):
            error = self.fail_with('compute_node:list', query=query)
            self.assertEqual('not_found', error.code, query)

    def test_body_that_the_schema_refuses_is_not_carried_out(self) -> None:
        for name, body in REFUSED:
            error = self.fail_with(name, **body)
            self.assertEqual('invalid_request', error.code, name)
            self.assertEqual(2, error.exit_code)
            self.assertTrue(str(error).startswith('body'), str(error))
        self.assertEqual([], self.client.call('move:list')['moves'])

    def test_request_id_is_one_of_openstack(self) -> None:
        self.assertRegex(self.client.request_id, '^req-[0-9a-f-]{36}$')

    def test_bodies_are_json_as_the_schemas_have_it(self) -> None:
        for name, request in READS:
            found = self.client.call(name, **request)
            self.assertEqual(found, json.loads(json.dumps(found)), name)
            _, schema = find_operation(name).answers[200]
            jsonschema.validate(found, schema)


REFUSED: tuple[tuple[str, dict[str, object]], ...] = (
    ('move:create', {'body': {**MOVE, 'reason': 'a\nb'}}),
    ('move:create', {'body': {**MOVE, 'reason': ' '}}),
    ('move:create', {'body': {**MOVE, 'override': ['destination_alive']}}),
    ('move:create', {'body': {'service': 'new', 'select': {}}}),
    ('compute_node:release', {'body': {'uuids': ['node1']}}),
    ('compute_node:bulk_delete', {'body': {'uuids': []}}),
    (
        'instance:forget',
        {'body': {'uuids': [UNKNOWN], 'reason': 'a\x1bb'}},
    ),
    (
        'service:set',
        {'path': {'host': 'new'}, 'body': {'forced_down': 'yes'}},
    ),
    (
        'service:failover',
        {'path': {'host': 'new'}, 'body': {'to': 'x', 'colour': 'red'}},
    ),
    ('policy:compare', {'body': {'a': 'all'}}),
)
"""Bodies that no operation takes."""

READS: tuple[tuple[str, dict[str, dict[str, object]]], ...] = (
    ('compute_node:list', {}),
    ('compute_node_record:list', {}),
    ('compute_node_record:list', {'query': {'service': 'OLD', 'limit': 1}}),
    ('compute_node:show', {'path': {'node': NODE}}),
    ('compute_node:explain', {'path': {'node': 'node2'}}),
    ('service:list', {}),
    ('service:list', {'query': {'long': True}}),
    ('service:show', {'path': {'host': 'NEW'}}),
    ('member:list', {}),
    ('move:list', {}),
    ('event:list', {}),
    ('event:list', {'query': {'node': 'node1', 'limit': 2}}),
    ('reservation:list', {}),
    ('overview:show', {'query': {'check': True}}),
    ('check:show', {}),
    ('ring:show', {}),
    ('ring:preview', {'query': {'without': ['new'], 'nodes': True}}),
    ('policy:compare', {'body': {'a': 'all', 'b': 'peer_list'}}),
    (
        'node:validate',
        {'body': {'nodes': [{'driver': 'x', 'name': 'node1'}]}},
    ),
)
"""Operations that change nothing."""
