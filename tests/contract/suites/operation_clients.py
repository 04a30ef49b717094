"""The contract of clients: one operation, wherever its handler runs."""

from __future__ import annotations

from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Update
from tests.unit.engine import world
from tests.unit.web import app_case

NODE = world.uuid(1)
MOVE = {'service': 'new', 'select': {'uuids': [NODE]}}
UNKNOWN = world.uuid(99)
ONE = {'limit': 1}
NEW = {'path': {'host': 'new'}}


class OperationClientContract(app_case.SiteCase):
    """``old`` owns nodes 1 to 6 and is disabled, ``new`` is alive."""

    client: OperationClient

    def fail_with(
        self, name: str, **request: object
    ) -> exceptions.OwnershipError:
        with self.assertRaises(exceptions.OwnershipError) as caught:
            self.client.call(name, **request)  # type: ignore[arg-type]
        return caught.exception

    def test_pages_make_the_whole_list(self) -> None:
        uuids = [world.uuid(number) for number in range(1, 7)]
        for name, key in (
            ('compute_node:list', 'compute_nodes'),
            ('compute_node_record:list', 'compute_node_records'),
        ):
            whole = self.client.call(name)
            self.assertEqual(uuids, [item['uuid'] for item in whole[key]])
            self.assertEqual((None, []), (whole['next'], whole['warnings']))
            for limit in (1, 2, 4, 6, 7, None):
                pages = [*self.client.pages(name, query={'limit': limit})]
                self.assertEqual(
                    whole[key], [item for page in pages for item in page[key]]
                )
                largest = max(len(page[key]) for page in pages)
                self.assertLessEqual(largest, limit or 6)
        query = {'service': 'new'}
        (page,) = self.client.pages('compute_node_record:list', query=query)
        self.assertEqual([], page['compute_node_records'])

    def test_pages_have_the_filters_of_the_query(self) -> None:
        pages = self.client.pages(
            'compute_node:list',
            query={'shard': 'a', 'state': ['owned', 'orphan'], 'limit': 2},
        )
        self.assertEqual(
            [[world.uuid(1), world.uuid(3)], [world.uuid(5)]],
            [[item['uuid'] for item in p['compute_nodes']] for p in pages],
        )
        pages = self.client.pages(
            'compute_node_record:list', query={'service': 'odl'}
        )
        with self.assertRaises(exceptions.OwnershipError) as caught:
            next(pages)
        self.assertEqual('not_found', caught.exception.code)

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

    def test_error_keeps_code_message_hint_and_details(self) -> None:
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
        error = self.fail_with('ring:preview', query={'with': ['new']})
        self.assertEqual('impossible_scenario', error.code)
        self.assertIn('new is a member already', str(error))
        self.records.set_service('old', actor='test', disabled=False)
        error = self.fail_with('move:create', body=MOVE)
        self.assertEqual('gates_failed', error.code)
        self.assertIn('1 of 1 nodes refused by a gate', str(error))
        self.assertEqual([NODE], [n['uuid'] for n in error.details['nodes']])
        self.assertTrue(error.hint)
        self.ironic.fail_with = exceptions.IronicUnavailableError(
            'down', hint='Start it'
        )
        error = self.fail_with('compute_node:list')
        self.assertEqual('ironic_unavailable', error.code)
        self.assertEqual('down. Start it', str(error))

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


REFUSED: tuple[tuple[str, dict[str, object]], ...] = (
    ('move:create', {'body': {**MOVE, 'reason': 'a\nb'}}),
    ('move:create', {'body': {**MOVE, 'reason': ' '}}),
    ('move:create', {'body': {**MOVE, 'override': ['destination_alive']}}),
    ('move:create', {'body': {'service': 'new', 'select': {}}}),
    ('compute_node:release', {'body': {'uuids': ['node1']}}),
    ('compute_node:bulk_delete', {'body': {'uuids': []}}),
    ('instance:forget', {'body': {'uuids': [UNKNOWN], 'reason': 'a\x1bb'}}),
    ('service:set', {**NEW, 'body': {'forced_down': 'yes'}}),
    ('service:failover', {**NEW, 'body': {'to': 'x', 'colour': 'red'}}),
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
    ('node:validate', {'body': {'nodes': [{'driver': 'x', 'name': 'n'}]}}),
)
"""Operations that change nothing."""
