"""Lists: those that are cut say so, and those of unknown names are refused."""

from __future__ import annotations

from ironic_ownership.cli import compute_node, event, move, pause
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.events import Origin
from tests.unit.cli import test_move
from tests.unit.db import sqlite
from tests.unit.engine import world

LOGGER = 'ironic_ownership.cli.base'


class ListsTest(test_move.CommandCase):
    def test_cut_list_says_so(self) -> None:
        for number in (1, 2):
            self.move(f'node{number}', '--yes')
            self.records.begin_pause(Origin('x', f'req-{number}'), 60, 'y')
        for kind, what in (
            (event.ListEvent, 'events'),
            (move.ListMove, 'moves'),
            (pause.ListPause, 'pauses'),
        ):
            for self.remote in (False, True):
                with self.subTest(what, remote=self.remote):
                    for more in ([], ['-f', 'json']):
                        with self.assertLogs(LOGGER, 'WARNING') as logs:
                            code, _ = self.printed(kind, '--limit', '1', *more)
                        self.assertEqual(0, code)
                        (line,) = logs.output
                        self.assertIn(
                            f'more {what} follow: raise --limit', line
                        )
                    with self.assertNoLogs(LOGGER, 'WARNING'):
                        self.printed(kind)

    def test_cut_history_of_a_node_says_so(self) -> None:
        self.move('node1', '--yes')
        count = len(self.run_command(event.ListEvent, '--node', 'node1')[1])
        for self.remote in (False, True):
            show = compute_node.ShowComputeNode, 'node1', '--events'
            with self.assertLogs(LOGGER, 'WARNING') as logs:
                self.printed(*show, str(count - 1))
            self.assertIn('more events follow: raise --events', *logs.output)
            for number in count, 0:
                with self.assertNoLogs(LOGGER, 'WARNING'):
                    self.printed(*show, str(number))

    def test_events_of_a_deleted_service_are_listed(self) -> None:
        self.records.register('gone', world.ALL)
        sqlite.run_sql(
            self.records._database, "DELETE FROM services WHERE host = 'gone'"
        )
        for self.remote in (False, True):
            code, found = self.run_command(
                event.ListEvent, '--service', 'GONE'
            )
            self.assertEqual((0, 1), (code, len(found)))
            code, found = self.run_command(
                *(event.ListEvent, '--service', 'gone', '--node', 'node1')
            )
            self.assertEqual((0, []), (code, found))
            with self.assertRaises(exceptions.OwnershipError) as caught:
                self.printed(event.ListEvent, '--service', 'gonne')
            self.assertEqual('not_found', caught.exception.code)
