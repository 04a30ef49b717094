"""Lists of nodes: the scope that is listed, and only 404 is an orphan."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import NodeFilter
from ironic_ownership.engine.decision import peer_groups
from ironic_ownership.engine.queries import node_listing
from tests.unit.engine.queries.test_node_query import ALL, S1, QueryCase, node

RACK1 = model.Scope(shard='rack1', conductor_group='g')


def scope(configured, shard=None, group=None):
    filters = NodeFilter(shard=shard, conductor_group=group)
    return node_listing.scope_of(filters, configured, 'h')


class ScopeTest(unittest.TestCase):
    def test_scope_is_that_of_the_options_and_the_configuration(self) -> None:
        group = model.Scope(conductor_group='g')
        for configured, shard, chosen_group, asked in (
            # Without a shard key everything is listed.
            (group, None, None, (model.Scope(), '')),
            # Options become filters of the server.
            *(
                (model.Scope(), 'Rack2', chosen, (found, ''))
                for chosen, found in (
                    ('g2', model.Scope(shard='Rack2', conductor_group='g2')),
                    (None, model.Scope(shard='Rack2')),
                )
            ),
            # Own records are added to the configured shard alone: otherwise
            # each own node of another place would be looked up.
            (RACK1, None, None, (RACK1, 'h')),
        ):
            self.assertEqual(asked, scope(configured, shard, chosen_group))

    def test_with_a_shard_key_every_scope_has_a_shard(self) -> None:
        for shard in (None, 'rack1', 'rack2'):
            for group in (None, '', 'g', 'g2'):
                asked, host = scope(RACK1, shard, group)
                self.assertEqual(shard or 'rack1', asked.shard)
                self.assertEqual(shard is group is None, host == 'h')

    def test_nodes_that_are_decided_together_are_listed_together(self) -> None:
        chosen = NodeFilter(shard='rack2', conductor_group='g')
        for configured, asked in (
            (model.Scope(), model.Scope()),
            (RACK1, model.Scope(shard='rack2')),
        ):
            found = node_listing.scope_of(
                chosen, configured, 'h', together=True
            )
            self.assertEqual((asked, ''), found)

    def test_contradicting_policies_stay_contradicting(self) -> None:
        configured = model.Scope(shard='rack1', nothing=True)
        self.assertTrue(scope(configured, group='g')[0].nothing)


class ReadTest(QueryCase):
    def states(self, scope=ALL, host='') -> dict[str, str]:
        found = node_listing.read(self.ports, scope, host)
        statuses = found.statuses({**found.nodes, **found.records})
        return {s.name: s.state.value for s in statuses}

    def test_not_all_of_many_records_are_looked_up(self) -> None:
        lost = [node(f'n{number:03}') for number in range(102)]
        self.claim(*lost, node('a'))
        self.ironic.put(node('a'))
        found = node_listing.list_nodes(self.ports, NodeFilter(), ALL, '')
        looked_up = [c for c in self.ironic.calls if c[0] == 'get']
        self.assertEqual(100, len(looked_up))
        names = {s.name: s.state.value for s in found.after()}
        self.assertEqual('owned', names.pop('a'))
        self.assertEqual({'orphan'}, {*names.values()})
        self.assertEqual((100, 2), (len(names), found.omitted))
        (warning,) = found.warnings
        self.assertTrue(warning.startswith('2 compute nodes on record left'))

    def test_listed_nodes_are_not_looked_up(self) -> None:
        self.ironic.put(node('a'), node('b'))
        self.claim(node('a'))
        self.assertEqual({'a': 'owned', 'b': 'unowned'}, self.states())
        self.assertEqual(
            ['scan', 'conductors'], [method for method, _ in self.ironic.calls]
        )

    def test_only_404_makes_an_orphan(self) -> None:
        self.ironic.put(node('moved', shard='s2'))
        self.claim(node('moved'), node('gone'))
        self.assertEqual(
            {'moved': 'filtered', 'gone': 'orphan'}, self.states(S1)
        )

    def test_policies_of_another_service_that_fail_hide_no_node(self) -> None:
        self.ironic.put(node('a'), node('theirs', shard='s2'))
        self.claim(node('a'))
        for where in ('admits', 'peers'):
            self.join_failing(where)
            with self.assertLogs(peer_groups.__name__, 'WARNING') as logged:
                found = self.states()
            self.assertEqual({'a': 'owned', 'theirs': 'contested'}, found)
            self.assertEqual(1, len(logged.output))
        self.join_failing('scope')
        with self.assertLogs(peer_groups.__name__, 'WARNING') as logged:
            self.assertEqual(
                {'a': 'contested', 'theirs': 'contested'}, self.states()
            )

    def test_failing_lookup_fails_the_list(self) -> None:
        self.claim(node('a'))
        self.ironic.failures['get'] = exceptions.IronicUnavailableError('x')
        self.assertRaises(exceptions.IronicError, self.states, S1)

    def test_record_far_from_its_node_is_found(self) -> None:
        self.claim(node('a', shard='s2'))
        self.ironic.put(node('a'))
        found = node_listing.read(self.ports, S1)
        (status,) = found.statuses(found.nodes)
        self.assertEqual('h1', status.owner)

    def test_own_records_count_wherever_they_are(self) -> None:
        self.claim(node('far', shard='s3'))
        self.ironic.put(node('far', shard='s3'))
        self.assertEqual({}, self.states(S1))
        self.assertEqual({'far': 'filtered'}, self.states(S1, 'h1'))


class ListTest(QueryCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(node, 'abcde'), node('other', shard='s2'))
        self.claim(node('a'), node('c'), node('gone'))

    def listing(self, **filters: str) -> node_listing.NodeListing:
        chosen = NodeFilter(**filters)
        asked, host = node_listing.scope_of(chosen, ALL, '')
        return node_listing.list_nodes(self.ports, chosen, asked, host)

    def names(self, **filters: str) -> set[str | None]:
        return {status.name for status in self.listing(**filters).after()}

    def test_list_goes_on_after_any_uuid(self) -> None:
        found = self.listing()
        whole = [status.uuid for status in found.after()]
        self.assertEqual(sorted(whole), whole)
        self.assertEqual(7, len(whole))
        for number, uuid in enumerate(whole):
            rest = [status.uuid for status in found.after(uuid)]
            self.assertEqual(whole[number + 1 :], rest)
        between = f'{whole[0]}0'
        self.assertEqual(
            whole[1:], [status.uuid for status in found.after(between)]
        )

    def test_filters_leave_what_they_name(self) -> None:
        self.assertEqual({'a', 'c', 'gone'}, self.names(host='h1'))
        self.assertEqual({'other'}, self.names(shard='s2'))
        self.assertEqual({*'abcde', 'gone'}, self.names(shard='s1'))
        self.assertEqual(set(), self.names(shard='s2', host='h1'))

    def test_unknown_names_are_refused(self) -> None:
        for filters in ({'host': 'h2'}, {'shard': 's3'}):
            with self.assertRaises(exceptions.OwnershipError) as caught:
                self.listing(**filters)
            self.assertEqual('not_found', caught.exception.code)
