"""Moves over HTTP: their status, and those that continue in the background.

``tests.unit.cli.test_move`` has the commands of both callers.
"""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.engine.changes import moves as move_nodes
from tests.unit.cli import command_case
from tests.unit.engine import world
from tests.unit.web import app_case

ONE = {'uuids': [world.uuid(1)]}
BROKEN = exceptions.RecordsUnavailableError('no answer')


class MovesTest(app_case.SiteCase):
    def move(self, status: int = 201, **body: Any) -> Any:
        body = {'service': 'new', 'select': ONE, **body}
        return self.ask('POST', '/v1/moves', status, json=body)

    def test_move_is_made_and_on_record_under_the_request_id(self) -> None:
        made = self.move(service='NEW', reason='for a test')
        request_id = self.headers['x-openstack-request-id']
        location = self.headers['location']
        self.assertTrue(location.endswith(f'/v1/moves/{request_id}'))
        self.assertEqual([request_id], self.wired.request_ids)
        (row,) = made['nodes']
        self.assertEqual('moved', row['state'])
        stored = self.get(location)
        self.assertEqual(
            ('done', 'for a test', 'api@local', 1),
            tuple(stored[k] for k in ('state', 'reason', 'actor', 'moved')),
        )
        self.assertEqual([world.uuid(1)], [n['uuid'] for n in stored['nodes']])
        # Repeated, it changes nothing and stores nothing.
        (row,) = self.move(200)['nodes']
        self.assertEqual('unchanged', row['state'])
        self.assertEqual(1, len(self.get('/v1/moves')['moves']))

    def test_gate_is_overridden_with_a_reason_only(self) -> None:
        self.ironic.nodes.pop(world.uuid(1))
        gates = ['node_exists', 'instance_agrees', 'destination_admits']
        gates.append('no_operation_in_progress')
        self.move(409)
        error = self.move(400, override=gates)['error']
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

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.object(move_nodes, 'BATCH', 2))

    def ask_for(self, status: int, *numbers: int) -> Any:
        """Request a move of these nodes."""
        select = {'uuids': [world.uuid(n) for n in numbers]}
        body = {'service': 'new', 'select': select}
        return self.ask('POST', '/v1/moves', status, json=body)

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
        self.addCleanup(command_case.join)
        self.addCleanup(go_on.set)
        return go_on

    def stored(self, location: str) -> tuple[Any, ...]:
        found = self.get(location)
        return tuple(found[k] for k in ('state', 'moved', 'planned', 'reason'))

    def test_long_move_is_answered_before_its_end(self) -> None:
        go_on = self.hold(2)
        answer = self.ask_for(202, 1, 2, 3)
        location = self.headers['location']
        self.assertTrue(location.endswith(f'/v1/moves/{answer["request_id"]}'))
        self.assertTrue(answer['background'])
        self.assertEqual(
            {'planned'}, {row['state'] for row in answer['nodes']}
        )
        self.assertTrue(self.reached.wait(60))
        progress = f'{location}?nodes=false'
        self.assertEqual(('unfinished', 2, 1, None), self.stored(progress))
        self.assertNotIn('nodes', self.get(progress))
        go_on.set()
        command_case.join()
        self.assertEqual(('done', 3, 0, None), self.stored(location))
        # One batch is answered with its result.
        self.assertFalse(self.ask_for(201, 4, 5)['background'])

    def test_number_of_moves_in_the_background_is_limited(self) -> None:
        go_on = self.hold(1)
        for _ in range(4):
            self.ask_for(202, 1, 2, 3)
        error = self.ask_for(503, 1, 2, 3)['error']
        self.assertEqual('busy', error['code'])
        self.assertEqual(4, len(self.get('/v1/moves')['moves']))
        go_on.set()
        command_case.join()
        self.assertEqual([], self.get('/v1/moves?unfinished=true')['moves'])

    def test_refused_long_move_stores_nothing(self) -> None:
        self.records.set_service('old', actor='test', disabled=False)
        self.ask_for(409, 1, 2, 3)
        self.assertEqual([], self.get('/v1/moves')['moves'])

    def test_failed_drain_names_the_moves_that_were_not_begun(self) -> None:
        settings = world.runs(shard_key='a')
        self.start('in-a', settings)
        with (
            mock.patch.object(SqlMoves, 'carry_out', side_effect=BROKEN),
            self.assertLogs('ironic_ownership', 'ERROR') as logs,
        ):
            self.ask('POST', '/v1/services/old/drain', 202, json={})
            command_case.join()
        moves = self.get('/v1/moves?unfinished=true')['moves']
        self.assertEqual(2, len(moves))
        for move in moves:
            request_id = move['request_id']
            self.assertIn(f'move resume {request_id}', ' '.join(logs.output))
            path = f'/v1/moves/{request_id}'
            self.client.post(f'{path}/resume', json={})
            command_case.join()
            self.assertEqual((0, 'drain of old'), self.stored(path)[2:])
        self.assertNotIn('old', self.owners().values())
