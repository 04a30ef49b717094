"""The laws of the committed order: each of them can be broken."""

from __future__ import annotations

import unittest
from typing import Any

from lab import binary_log, committed_order

COLUMNS = {
    'services': ('host', 'epoch', 'fenced'),
    'compute_nodes': (*('uuid', 'name', 'host', 'deleted_at', 'held_by'),),
    'instances': ('id', 'node_uuid', 'open_node_uuid', 'host'),
    'events': ('kind', 'actor', 'node_uuid', 'from_host', 'request_id'),
}
NODE = 'node1'
Row = dict[str, Any]


def columns(table: str, row: Row | None) -> binary_log.Columns | None:
    if row is None:
        return None
    return {at: row.get(name) for at, name in enumerate(COLUMNS[table], 1)}


def changed(
    table: str, before: Row | None, after: Row | None
) -> binary_log.Change:
    return binary_log.Change(
        'db', table, columns(table, before), columns(table, after)
    )


def event(kind: str, **values: Any) -> Row:
    return {'kind': kind, 'actor': 'host1', 'node_uuid': NODE, **values}


def operator_event(kind: str, **values: Any) -> binary_log.Change:
    values = {'actor': committed_order.OPERATOR, **values}
    return changed('events', None, event(kind, **values))


def service(host: str, epoch: int, fenced: int = 0) -> Row:
    return {'host': host, 'epoch': epoch, 'fenced': fenced}


def node(host: str | None, **values: Any) -> Row:
    return {'uuid': NODE, 'host': host, **values}


class TestReplay(unittest.TestCase):
    """Two services; host1 owns the node."""

    def setUp(self) -> None:
        super().setUp()
        self.replay = committed_order.Replay(COLUMNS)
        self.owned = node('host1', name='host1@1')
        self.commit(
            changed('services', None, service('host1', 1)),
            changed('services', None, service('host2', 2)),
        )
        self.commit(
            changed('compute_nodes', None, self.owned),
            changed('events', None, event('owner_changed')),
        )
        self.assertEqual([], self.replay.report.violations)

    def commit(self, *changes: binary_log.Change) -> None:
        self.replay.feed(binary_log.Transaction('0-1-1', 1, list(changes)))

    def hand_over(self) -> Row:
        """Let a request release the node; return its row."""
        released = node(None, held_by='req-1')
        self.commit(
            changed('compute_nodes', self.owned, released),
            operator_event(
                'node_handed_over', from_host='host1', request_id='req-1'
            ),
        )
        self.assertEqual([], self.replay.report.violations)
        return released

    def test_each_law_can_be_broken(self) -> None:
        owned = self.owned
        fenced = service('host1', 2, 1)
        instance = {
            'id': 1,
            'node_uuid': NODE,
            'open_node_uuid': NODE,
            'host': 'host2',
        }
        for words, *changes in (
            (
                'host1 writes availability_changed after its fence',
                ('services', service('host1', 1), fenced),
                ('events', None, event('availability_changed')),
            ),
            (
                'claims node1 under epoch 1, the current one is 2',
                ('compute_nodes', owned, node('host2', name='host2@1')),
            ),
            (
                'host3 gets node1, and is deleted',
                ('compute_nodes', owned, node('host3')),
            ),
            (
                'host1 is deleted and owns node1',
                ('services', service('host1', 1), None),
            ),
            (
                'node1 is of host1, its instance of host2',
                ('instances', None, instance),
            ),
            (
                'compute_nodes node1 is not as seen',
                ('compute_nodes', node('host2'), node('host1')),
            ),
        ):
            with self.subTest(words):
                self.setUp()
                for change in changes:
                    self.commit(changed(*change))
                (found,) = self.replay.report.violations
                self.assertIn(words, found)

    def test_node_that_is_taken_from_another_than_its_owner(self) -> None:
        for kind in ('node_handed_over', 'node_forgotten', 'node_moved'):
            self.commit(operator_event(kind, from_host='host2'))
        self.assertEqual(3, len(self.replay.report.violations))

    def test_claim_of_a_node_that_is_handed_over(self) -> None:
        claimed = changed('compute_nodes', self.hand_over(), node('host2'))
        self.commit(claimed)
        (found,) = self.replay.report.violations
        self.assertIn('host2 gets node1, which req-1 hands over', found)

    def test_claim_after_the_end_of_a_hand_over(self) -> None:
        ended = node(None)
        self.commit(changed('compute_nodes', self.hand_over(), ended))
        self.commit(changed('compute_nodes', ended, node('host2')))
        self.assertEqual([], self.replay.report.violations)

    def test_move_to_which_a_node_was_handed_over(self) -> None:
        self.commit(
            changed('compute_nodes', self.hand_over(), node('host2')),
            changed('events', None, event('node_moved', request_id='req-1')),
        )
        self.assertEqual([], self.replay.report.violations)
