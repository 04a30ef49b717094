"""Requests that are refused: one table of HTTP, and nothing changes."""

from __future__ import annotations

from typing import Any

from tests.unit.engine import world
from tests.unit.web import app_case

ONE = {'uuids': [world.uuid(1)]}
SERVICE = '/v1/services/new'
ORDER = {'take_over_deployed_after': 600, 'reason': 'x'}

ROWS: tuple[tuple[str, str, int, Any, str], ...] = (
    # method, path, status, body, part of the message
    *(
        ('PATCH', SERVICE, 400, body, 'body')
        for body in (
            {},
            {'dry_run': True},
            {'disabled_reason': 'x'},
            {'disabled': False, 'disabled_reason': 'x'},
            {'disabled': True, 'disabled_reason': ' '},
            {'disabled': True, 'disabled_reason': 'x' * 256},
            {'disabled': 'yes'},
            {'forced_down': True, 'epoch': 1},
            {'take_over_deployed_after': 60},
            {'take_over_deployed_after': 0, 'reason': 'x'},
            {'take_over_deployed_after': None, 'disabled': True},
            {'take_over_deployed_to': 'old', 'reason': 'x'},
        )
    ),
    *(
        ('POST', '/v1/services/old/drain', 400, {'trial': bad}, 'body.trial')
        for bad in (0, -1, 'x', True)
    ),
    *(
        ('POST', '/v1/moves', 400, {'service': 'new', 'select': s}, '.select')
        for s in (
            {},
            {'uuids': []},
            {'uuids': ['node1']},
            {**ONE, 'shard': 'a'},
            {'shard': ''},
            'all',
        )
    ),
    ('GET', '/v1/compute-nodes?limit=1&limit=2', 400, None, 'limit'),
    ('PATCH', '/v1/services/old', 409, ORDER, ''),
)


class RefusalsTest(app_case.SiteCase):
    def test_refused_request_changes_nothing(self) -> None:
        self.backend.join('old', 'two', world.ALL)
        before = self.records.services(), self.records.events()
        for method, path, status, body, word in ROWS:
            with self.subTest(path, body=body):
                error = self.refused(method, path, status, json=body)
                self.assertIn(word, error['message'])
        self.assertEqual(
            before, (self.records.services(), self.records.events())
        )

    def test_policies_that_fail_are_a_warning_of_a_preview(self) -> None:
        bad = world.runs(shard_key='x', fails='scope')
        self.backend.join('bad', 'one', bad)
        self.records.register('bad', bad, incarnation='one')
        self.wired.interpret = world.interpret
        found = self.get('/v1/rings/preview?without=new')
        (warning,) = found['warnings']
        self.assertIn('the policies of bad fail: ', warning)

    def test_hint_names_what_is_meant(self) -> None:
        error = self.refused('GET', '/v1/v1/services', 404)
        self.assertIn('does not end with /v1', error['hint'])
