"""Lists in pages, and the check of an action."""

from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import move_answers
from ironic_ownership.api.resources.services import SHORT
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.moves import NodeMove, NodeState
from ironic_ownership.contracts.records import Update
from ironic_ownership.engine.changes.case import PlannedNode
from ironic_ownership.engine.queries import balance
from ironic_ownership.engine.queries.deployment import Deployment
from tests.unit.engine import world
from tests.unit.web import app_case

NODES = '/v1/compute-nodes'


class SentencesTest(unittest.TestCase):
    def test_sentences_fit_one_node(self) -> None:
        node = NodeMove(world.uuid(1), 'old', state=NodeState.REFUSED)
        error = move_answers.refused([], [PlannedNode(node)])
        _, unknown = balance.add_load(
            [], Deployment(world.interpret, {}, model.View(), unlisted=1)
        )
        for expected, text in (
            (
                'nothing was moved: 1 node without a destination. ',
                str(error).partition('gate, ')[2],
            ),
            ('unavailable nodes are unknown: 1 node without', unknown[0]),
        ):
            self.assertEqual(expected, text[: len(expected)])


class ComputeNodesTest(app_case.SiteCase):
    def test_first_page_is_always_read_again(self) -> None:
        self.assertEqual(6, len(self.walk(NODES, 'uuid')))
        self.ironic.put(world.node(7))
        self.assertEqual(7, len(self.walk(NODES, 'uuid')))

    def test_marker_of_what_is_gone_goes_on_behind_it(self) -> None:
        marker = world.uuid(3)[:-1] + '35'
        page = self.get(f'{NODES}?marker={marker}')
        self.assertEqual(world.uuid(4), page['compute_nodes'][0]['uuid'])

    def test_configuration_bounds_the_page(self) -> None:
        self.client = self.build('max_limit = 2')
        for path in (NODES, f'{NODES}?limit=5'):
            self.assertEqual(2, len(self.get(path)['compute_nodes']))

    def test_states_select_as_they_do_there(self) -> None:
        self.change_node(1, maintenance=True)
        for state, count in (
            ('unavailable', 1),
            ('available', 5),
            ('orphan', 0),
        ):
            found = self.walk(f'{NODES}?state={state}', 'uuid')
            self.assertEqual(count, len(found), state)

    def test_every_fault_of_a_query_is_reported(self) -> None:
        path = f'{NODES}?limit=0&shard=&state=odd&colour=red'
        error = self.refused('GET', path, 400)
        for word in ('limit', 'shard', 'odd', 'colour'):
            self.assertIn(word, error['message'])

    def test_part_of_a_list_has_the_owners_of_the_whole(self) -> None:
        seating = world.runs(seating=None)
        for host in ('new', 'other'):
            self.start(host, seating, host)
        self.ironic.put(world.node(7, shard='b'), world.node(8, shard='b'))
        path = f'{NODES}/{world.uuid(8)}/explain'
        owner = self.get(path)['decided_owner']
        self.assertEqual('other', owner)
        found = self.get(f'{NODES}?shard=b')['compute_nodes']
        self.assertEqual(owner, found[-1]['decided_owner'])

    def test_with_a_shard_key_every_list_names_a_shard(self) -> None:
        self.wired.scope = model.Scope(shard='a')
        for query in ('', '?shard=b', '?conductor_group=', '?state=owned'):
            self.get(f'{NODES}{query}')
        scanned = [what for name, what in self.ironic.calls if name == 'scan']
        self.assertEqual(4, len(scanned))
        self.assertNotIn(None, [scope.shard for scope in scanned])
        # Own records are listed wherever their nodes are.
        for service_, count in (('here', 3), ('old', 6)):
            self.wired.service = service_
            self.assertEqual(count, len(self.walk(NODES, 'uuid')))

    def test_outage_of_ironic_passes(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        for path in ('', f'/{world.uuid(1)}', f'/{world.uuid(1)}/explain'):
            error = self.refused('GET', f'{NODES}{path}', 503)
            self.assertEqual('ironic_unavailable', error['code'])

    def test_action_is_checked(self) -> None:
        path = f'{NODES}/{world.uuid(1)}/check-action'
        self.assertEqual('fenced', self.refused('POST', path, 409)['code'])
        self.start()
        self.assertEqual('old', self.ask('POST', path)['service'])
        driver = frozenset({'fake-hardware'})
        self.ironic.workers = [
            model.Conductor('c1', '', driver, alive=False),
            model.Conductor('c2', 'other', frozenset({'x'})),
        ]
        error = self.refused('POST', path, 409)
        self.assertEqual('out_of_service', error['code'])
        where = {'driver': 'fake-hardware', 'conductor_group': ''}
        self.assertEqual(
            {'uuid': world.uuid(1), **where, 'needed': ['c1']},
            error['details'],
        )

    def test_action_for_an_instance_that_left_its_node_is_refused(
        self,
    ) -> None:
        instance = world.uuid(99)
        path = f'{NODES}/{instance.upper()}/check-action'
        epoch = self.start()
        used = self.change_node(1, instance_uuid=instance)
        self.records.apply('old', epoch, [Update(used)])
        self.assertEqual(world.uuid(1), self.ask('POST', path)['uuid'])
        self.change_node(1, instance_uuid=None)
        error = self.refused('POST', path, 409)
        self.assertEqual('other_instance', error['code'])


class ServicesTest(app_case.SiteCase):
    def test_shares_that_a_policy_cannot_tell_leave_the_others(self) -> None:
        failing = mock.Mock(side_effect=LookupError('its own mistake'))
        self.enterContext(
            mock.patch.object(world.OddPolicy, 'shares', failing)
        )
        odd = world.runs(odd=None)
        for host in ('odd1', 'odd2'):
            self.start(host, odd, host)
        for path, key in (
            ('/v1/rings', 'peers'),
            ('/v1/services?long=true', 'services'),
            ('/v1/overview', 'services'),
        ):
            found = {one['host']: one for one in self.get(path)[key]}
            shares = [found[host]['of_mean'] for host in ('new', 'odd1')]
            self.assertEqual([1.0, None], shares, path)

    def test_services_are_listed_in_pages(self) -> None:
        page = self.get('/v1/services?limit=1')
        self.assertEqual(['new'], [row['host'] for row in page['services']])
        page = self.get(page['next'])
        (row,) = page['services']
        self.assertEqual(list(schemas.keys(SHORT)), list(row))
        self.assertEqual(
            ('old', 'down', 6),
            tuple(row[key] for key in ('host', 'alive', 'nodes')),
        )
        self.assertIsNone(page['next'])

    def test_unknown_values_are_warnings(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        page = self.get('/v1/services?long=true')
        self.assertIn('Ironic is unknown: down', page['warnings'])
        self.assertIsNone(page['services'][1]['unavailable'])
