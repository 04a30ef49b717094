"""``event list`` on the database and at the HTTP service."""

from __future__ import annotations

import datetime
import json
from typing import Any

from ironic_ownership.api.resources import events
from ironic_ownership.observe import columns
from tests.functional.support import both_ways


class EventListTest(both_ways.BothWaysCase):
    """``old`` is disabled and owns nodes, ``new`` is alive."""

    nodes_of_each = 2

    def listed(self, *options: str) -> list[dict[str, Any]]:
        """Return the events, which both ways show alike."""
        found: list[dict[str, Any]] = self.same_in_all_formats(
            0, 'event', 'list', *options
        )
        return found

    def run_json(self, *words: str) -> Any:
        done = self.local(*words, '--yes', '-f', 'json')
        self.assertEqual(0, done.returncode, done)
        return json.loads(done.stdout)

    def test_history_of_what_operators_did(self) -> None:
        node = self.nodes[0]
        (record,) = self.lab.records.compute_nodes_by_uuid([node])
        assert record.name is not None
        down = self.run_json('service', 'set', 'old', '--down')
        (moved,) = self.run_json(
            *('compute', 'node', 'move', node, '--service', 'new'),
            *('--reason', 'new rack'),
        )
        (by_move,) = self.listed('--request-id', moved['request_id'], '--long')
        self.assertEqual(
            ('node_moved', 'old', 'new', node, 'new rack'),
            tuple(
                by_move[key]
                for key in (
                    *('kind', 'from_host', 'to_host', 'node_uuid'),
                    'reason',
                )
            ),
        )
        (by_set,) = self.listed('--request-id', down['request_id'])
        self.assertEqual('service_forced_down', by_set['kind'])
        self.assertEqual(list(columns.keys(events.SHORT)), list(by_set))
        self.assertEqual(
            {node}, {e['node_uuid'] for e in self.listed('--node', node)}
        )
        for options in (
            ('--node', record.name),
            ('--node', node.upper()),
            ('--service', 'NEW'),
            ('--kind', 'node_moved', 'service_changed', '--long'),
            ('--actor', by_move['actor']),
            ('--since', '2020-01-01', '--until', '2099-01-01T00:00+02:00'),
            ('--limit', '3'),
        ):
            self.assertTrue(self.listed(*options), options)
        for options in (
            ('--since', '2099-01-01'),
            ('--until', '2020-01-01'),
            ('--actor', 'x'),
            ('--service', 'x'),
        ):
            self.assertEqual([], self.listed(*options), options)
        everything = self.listed()
        self.assertEqual(
            everything, json.loads(self.pages('event', 'list', '-f', 'json'))
        )
        self.assertEqual(everything[:2], self.listed('--limit', '2'))
        self.assert_split_by_time(everything)
        self.assert_refusals(record.name)

    def pages(self, *words: str) -> str:
        small = self.serve('max_limit = 1')
        before, self.remote_options = (
            self.remote_options,
            ['--os-endpoint', small.url],
        )
        found = self.same(0, *words)
        self.remote_options = before
        return found

    def assert_split_by_time(self, everything: list[dict[str, Any]]) -> None:
        """See each event before or after a time, and in no case both."""
        middle = everything[len(everything) // 2]['at']
        self.assertEqual(
            everything,
            [*self.listed('--since', middle), *self.listed('--until', middle)],
        )
        later = datetime.datetime.fromisoformat(everything[0]['at'])
        later += datetime.timedelta(seconds=2)
        self.assertEqual([], self.listed('--since', later.isoformat()))
        done = self.local('event', 'list', '--since', '1h', '-f', 'json')
        self.assertEqual(everything, json.loads(done.stdout))

    def assert_refusals(self, name: str) -> None:
        for options, text in (
            (('--since', 'yesterday'), 'such as 12h'),
            (('--kind', 'x'), 'invalid choice'),
            (('--limit', '0'), 'is not in 1 to 1000000'),
        ):
            self.assertIn(text, self.refused(2, *options))
        self.assertIn(name, self.refused(1, '--node', f'{name}x'))
        done = self.local('event', 'list', '--help')
        for word in ('service_died', 'examples', '--since', '12h'):
            self.assertIn(word, done.stdout)

    def refused(self, code: int, *options: str) -> str:
        first = self.local('event', 'list', *options)
        second = self.remote('event', 'list', *options)
        self.assertEqual((code, code), (first.returncode, second.returncode))
        self.assertEqual(first.stderr, second.stderr)
        self.assertNotIn('Traceback', first.stderr)
        return first.stderr
