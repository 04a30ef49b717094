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


def event(kind: str, **values: Any) -> binary_log.Change:
    return changed('events', None, {'kind': kind, 'actor': 'host1', **values})


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
            event('owner_changed', node_uuid=NODE),
        )
        self.assertEqual([], self.replay.report.violations)

    def commit(self, *changes: binary_log.Change) -> None:
        self.replay.feed(binary_log.Transaction('0-1-1', 1, list(changes)))

    def assert_violation(
        self, words: str, *changes: binary_log.Change
    ) -> None:
        self.commit(*changes)
        (found,) = self.replay.report.violations
        self.assertIn(words, found)

    def fence(self) -> None:
        self.commit(
            changed('services', service('host1', 1), service('host1', 2, 1))
        )

    def hand_over(self) -> Row:
        """Let a request release the node; return its row."""
        released = node(None, held_by='req-1')
        self.commit(
            changed('compute_nodes', self.owned, released),
            event(
                'node_handed_over',
                actor=committed_order.OPERATOR,
                node_uuid=NODE,
                from_host='host1',
                request_id='req-1',
            ),
        )
        self.assertEqual([], self.replay.report.violations)
        return released

    def test_write_after_a_fence(self) -> None:
        self.fence()
        self.assert_violation(
            'host1 writes availability_changed after its fence',
            event('availability_changed', node_uuid=NODE),
        )

    def test_claim_under_an_old_epoch(self) -> None:
        self.assert_violation(
            'claims node1 under epoch 1, the current one is 2',
            changed(
                'compute_nodes', self.owned, node('host2', name='host2@1')
            ),
        )

    def test_owner_that_is_deleted(self) -> None:
        self.assert_violation(
            'host3 gets node1, and is deleted',
            changed('compute_nodes', self.owned, node('host3')),
        )

    def test_node_that_is_taken_from_another_than_its_owner(self) -> None:
        for kind in ('node_handed_over', 'node_forgotten', 'node_moved'):
            self.commit(
                event(
                    kind,
                    actor=committed_order.OPERATOR,
                    node_uuid=NODE,
                    from_host='host2',
                )
            )
        self.assertEqual(3, len(self.replay.report.violations))

    def test_deleted_service_with_a_node(self) -> None:
        self.assert_violation(
            'host1 is deleted and owns node1',
            changed('services', service('host1', 1), None),
        )

    def test_instance_of_another_service(self) -> None:
        self.assert_violation(
            'node1 is of host1, its instance of host2',
            changed(
                'instances',
                None,
                {
                    'id': 1,
                    'node_uuid': NODE,
                    'open_node_uuid': NODE,
                    'host': 'host2',
                },
            ),
        )

    def test_row_that_is_not_as_it_was_read(self) -> None:
        self.assert_violation(
            'compute_nodes node1 is not as seen',
            changed('compute_nodes', node('host2'), node('host1')),
        )

    def test_claim_of_a_node_that_is_handed_over(self) -> None:
        self.assert_violation(
            'host2 gets node1, which req-1 hands over',
            changed('compute_nodes', self.hand_over(), node('host2')),
        )

    def test_claim_after_the_end_of_a_hand_over(self) -> None:
        ended = node(None)
        self.commit(changed('compute_nodes', self.hand_over(), ended))
        self.commit(changed('compute_nodes', ended, node('host2')))
        self.assertEqual([], self.replay.report.violations)

    def test_move_to_which_a_node_was_handed_over(self) -> None:
        self.commit(
            changed('compute_nodes', self.hand_over(), node('host2')),
            event('node_moved', node_uuid=NODE, request_id='req-1'),
        )
        self.assertEqual([], self.replay.report.violations)
