"""Moves over HTTP: the same gates, the same records."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

from ironic_ownership.api.resources.move_answers import NODE
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from ironic_ownership.observe import columns
from tests.unit.engine import world
from tests.unit.web import app_case

ONE = {'uuids': [world.uuid(1)]}


class MovesTest(app_case.SiteCase):
    def move(self, status: int = 201, **body):
        body = {'service': 'new', 'select': ONE, **body}
        if status >= 400:
            return self.refused('POST', '/v1/moves', status, json=body)
        return self.ask('POST', '/v1/moves', status, json=body)

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def test_move_is_made_and_on_record_under_the_request_id(self) -> None:
        answer = self.client.post(
            '/v1/moves',
            json={'service': 'NEW', 'select': ONE, 'reason': 'for a test'},
        )
        self.assertEqual(201, answer.status_code, answer.text)
        request_id = answer.headers['x-openstack-request-id']
        self.assertTrue(
            answer.headers['location'].endswith(f'/v1/moves/{request_id}')
        )
        self.assertEqual([request_id], self.wired.request_ids)
        (row,) = answer.get_json()['nodes']
        self.assertEqual(list(columns.keys(NODE)), list(row))
        self.assertEqual('moved', row['state'])
        self.assertEqual('new', self.owners()[world.uuid(1)])
        stored = self.get(answer.headers['location'])
        self.assertEqual(
            ('done', 'for a test', 'api@local', 1),
            tuple(stored[k] for k in ('state', 'reason', 'actor', 'moved')),
        )
        self.assertEqual([world.uuid(1)], [n['uuid'] for n in stored['nodes']])

    def test_repeated_it_changes_nothing_and_stores_nothing(self) -> None:
        self.move()
        (row,) = self.move(200)['nodes']
        self.assertEqual('unchanged', row['state'])
        self.assertEqual(1, len(self.get('/v1/moves')['moves']))

    def test_gate_is_overridden_with_a_reason_only(self) -> None:
        self.ironic.nodes.pop(world.uuid(1))
        gates = ['node_exists', 'instance_agrees', 'destination_admits']
        gates.append('no_operation_in_progress')
        self.move(409)
        error = self.move(400, override=gates)
        self.assertIn('reason', error['message'])
        self.move(400, override=['source_stopped'], reason='no')
        self.move(201, override=gates, reason='it is gone')

    def test_place_selects(self) -> None:
        rows = self.move(select={'service': 'OLD', 'shard': 'a'})['nodes']
        self.assertEqual(
            [world.uuid(number) for number in (1, 3, 5)],
            sorted(row['uuid'] for row in rows),
        )
        self.move(404, select={'service': 'odl'})

    def test_with_a_shard_key_every_list_names_a_shard(self) -> None:
        self.wired.scope = model.Scope(shard='a')
        self.move(200, select={'conductor_group': ''}, dry_run=True)
        scanned = [what for name, what in self.ironic.calls if name == 'scan']
        self.assertTrue(scanned)
        self.assertNotIn(None, [scope.shard for scope in scanned])

    def test_selection_is_one_of_two_kinds(self) -> None:
        for select in (
            {},
            {'uuids': []},
            {'uuids': ['node1']},
            {**ONE, 'shard': 'a'},
            {'shard': ''},
            'all',
        ):
            error = self.move(400, select=select)
            self.assertIn('body.select', error['message'], select)

    def test_newest_move_comes_first_on_the_pages(self) -> None:
        made = [
            self.move(select={'uuids': [world.uuid(n)]})['request_id']
            for n in (1, 2, 3)
        ]
        first = self.get('/v1/moves?limit=2')
        last = self.get(first['next'])
        self.assertIsNone(last['next'])
        found = [row['request_id'] for row in first['moves'] + last['moves']]
        self.assertEqual(made[::-1], found)
        self.assertEqual([], self.get('/v1/moves?unfinished=true')['moves'])


class BackgroundTest(app_case.SiteCase):
    """A batch has two nodes, so that a move of three is a long one."""

    body = {
        'service': 'new',
        'select': {'uuids': [world.uuid(n) for n in (1, 2, 3)]},
    }

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.object(move_nodes, 'BATCH', 2))

    def start(self, path: str = '/v1/moves', **body: Any) -> str:
        """Send a request for a long move, and return its location."""
        answer = self.client.post(path, json=body or self.body)
        self.assertEqual(202, answer.status_code, answer.text)
        self.answer = answer.get_json()
        return str(answer.headers['location'])

    def wait(self) -> None:
        """Wait for the threads in the background."""
        for thread in threading.enumerate():
            if thread.name.startswith('req-'):
                thread.join(60)

    def hold(self, number: int) -> threading.Event:
        """Hold the batches from this one on, counted from 1."""
        go_on, done = threading.Event(), iter(range(1, 100))
        carry_out = SqlMoves.carry_out
        self.reached = threading.Event()

        def held(*args: Any) -> Any:
            if next(done) >= number:
                self.reached.set()
                go_on.wait(60)
            return carry_out(*args)

        patch = mock.patch.object(SqlMoves, 'carry_out', held)
        self.enterContext(patch)
        self.addCleanup(self.wait)
        self.addCleanup(go_on.set)
        return go_on

    def test_long_move_is_answered_before_its_end(self) -> None:
        go_on = self.hold(2)
        location = self.start()
        request_id = self.answer['request_id']
        self.assertTrue(location.endswith(f'/v1/moves/{request_id}'))
        self.assertTrue(self.answer['background'])
        self.assertEqual(
            {'planned'}, {row['state'] for row in self.answer['nodes']}
        )
        self.assertTrue(self.reached.wait(60))
        progress = self.get(f'{location}?nodes=false')
        self.assertEqual(
            ('unfinished', 2, 1),
            tuple(progress[key] for key in ('state', 'moved', 'planned')),
        )
        self.assertNotIn('nodes', progress)
        go_on.set()
        self.wait()
        self.assertEqual('done', self.get(location)['state'])

    def test_one_batch_is_answered_with_its_result(self) -> None:
        select = {'uuids': self.body['select']['uuids'][:2]}
        body = {**self.body, 'select': select}
        answer = self.ask('POST', '/v1/moves', 201, json=body)
        self.assertFalse(answer['background'])

    def test_failure_leaves_a_move_that_can_be_resumed(self) -> None:
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            self.assertLogs('ironic_ownership', 'ERROR') as logs,
        ):
            location = self.start()
            self.wait()
        self.assertIn(self.answer['request_id'], logs.output[0])
        self.assertEqual('unfinished', self.get(location)['state'])
        self.start(f'{location}/resume', skip_invalid=False)
        self.wait()
        self.assertEqual('done', self.get(location)['state'])

    def test_number_of_moves_in_the_background_is_limited(self) -> None:
        go_on = self.hold(1)
        for _ in range(4):
            self.start()
        error = self.refused('POST', '/v1/moves', 503, json=self.body)
        self.assertEqual('busy', error['code'])
        self.assertEqual(4, len(self.get('/v1/moves')['moves']))
        go_on.set()
        self.wait()
        self.assertEqual([], self.get('/v1/moves?unfinished=true')['moves'])

    def test_refused_long_move_stores_nothing(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.refused('POST', '/v1/moves', 409, json=self.body)
        self.assertEqual([], self.get('/v1/moves')['moves'])

    def test_failed_drain_names_the_moves_that_were_not_begun(self) -> None:
        settings = world.runs(shard_key='a')
        self.records.register('in-a', settings)
        self.backend.join('in-a', 'two', settings)
        broken = exceptions.RecordsUnavailableError('no answer')
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=broken),
            self.assertLogs('ironic_ownership', 'ERROR') as logs,
        ):
            self.start('/v1/services/old/drain', skip_invalid=False)
            self.wait()
        moves = self.get('/v1/moves?unfinished=true')['moves']
        self.assertEqual(2, len(moves))
        for move in moves:
            request_id = move['request_id']
            self.assertIn(f'move resume {request_id}', ' '.join(logs.output))
            path = f'/v1/moves/{request_id}/resume'
            self.client.post(path, json={})
            self.wait()
        self.assertNotIn('old', {r.host for r in self.records.compute_nodes()})

    def test_long_drain_is_answered_before_its_end(self) -> None:
        self.start('/v1/services/old/drain', skip_invalid=False)
        (move,) = self.answer['moves']
        self.wait()
        stored = self.get(f'/v1/moves/{move["request_id"]}')
        self.assertEqual(
            ('done', 6, 'drain of old'),
            tuple(stored[key] for key in ('state', 'moved', 'reason')),
        )
