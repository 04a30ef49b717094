from __future__ import annotations

import json
import pathlib
import tempfile
import time
import unittest
from unittest import mock

from ironic_ownership_nova import node_view
from ironic_ownership_nova.reported import ReportedNodes
from tests import support

EPOCH = 1_700_000_000_000
"""Of the process that has written the file."""


class ReportedTest(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.path = pathlib.Path(home.name) / 'reported.json'
        self.nodes = self.new()

    def new(
        self,
        basis: str = 'basis',
        interval: float = 100,
        predecessor: int = EPOCH,
    ) -> ReportedNodes:
        nodes = ReportedNodes(self.path, basis, interval)
        nodes.load(predecessor)
        nodes.epoch = EPOCH
        return nodes

    def test_report_counts_for_the_interval_at_most(self) -> None:
        with mock.patch('time.time') as clock:
            clock.return_value = 1000.0
            for uuid in support.UUIDS:
                self.nodes.add(uuid, 'a')
            clock.return_value = 1049.0
            for uuid in support.UUIDS:
                self.assertTrue(self.nodes.is_current(uuid, 'a'))
            # Not all at the same time.
            clock.return_value = 1075.0
            found = {self.nodes.is_current(u, 'a') for u in support.UUIDS}
            self.assertEqual({True, False}, found)
            for late in (1101.0, 999.0):
                clock.return_value = late
                for uuid in support.UUIDS:
                    self.assertFalse(self.nodes.is_current(uuid, 'a'))

    def test_next_start_knows_when_the_row_was_written(self) -> None:
        self.nodes.add(support.FREE, 'a')
        self.nodes.store()
        self.assertFalse(self.new('other').is_current(support.FREE, 'a'))
        self.assertFalse(self.new(interval=0).is_current(support.FREE, 'a'))
        # An unchanged file is not written again.
        self.path.unlink()
        self.nodes.store()
        self.assertFalse(self.path.exists())
        for written in (None, 7.5):
            self.nodes.add(support.FREE, 'a', written)
            self.nodes.store()
            found = self.new()
            found.compare({support.FREE: written})
            self.assertTrue(found.is_current(support.FREE, 'a'))
            self.assertFalse(found.is_current(support.FREE, 'b'))
            self.assertFalse(found.is_current(support.OTHER, 'a'))
            found.compare({support.FREE: 9.0})
            self.assertFalse(found.is_current(support.FREE, 'a'))
            self.nodes.discard([support.FREE])
            self.assertFalse(self.nodes.is_current(support.FREE, 'a'))

    def test_file_is_used_until_another_process_was_active(self) -> None:
        """On another machine: what that has reported is not in the file."""
        self.nodes.add(support.FREE, 'a')
        self.nodes.store()
        # It has stopped, or was fenced, and perhaps forced down as well.
        for before, is_used in (
            (EPOCH, True),
            (EPOCH + 1, True),
            (EPOCH + 2, True),
            (EPOCH + 20_000, False),
            (EPOCH - 20_000, False),
            (0, False),
        ):
            found = self.new(predecessor=before)
            self.assertIs(is_used, found.is_current(support.FREE, 'a'), before)
        # That of an earlier release does not name its process.
        nodes = {support.FREE: ['a', time.time()]}
        self.path.write_text(json.dumps({'basis': 'basis', 'nodes': nodes}))
        for before in EPOCH, 0:
            found = self.new(predecessor=before)
            self.assertFalse(found.is_current(support.FREE, 'a'))

    def test_unreadable_file_is_not_used(self) -> None:
        self.path.write_text('{"basis": "basis"')
        with self.assertLogs(level='WARNING'):
            nodes = self.new()
        self.assertFalse(nodes.is_current(support.FREE, 'a'))

    def test_full_disk_does_no_harm(self) -> None:
        self.nodes.add(support.FREE, 'a')
        with (
            mock.patch('pathlib.Path.write_text', side_effect=OSError(28)),
            self.assertLogs(level='WARNING'),
        ):
            self.nodes.store()
        self.assertTrue(self.nodes.is_current(support.FREE, 'a'))


class DigestTest(unittest.TestCase):
    def test_follows_all_that_nova_reports(self) -> None:
        def digest(**fields: object) -> str:
            view = support.view(**fields)
            node = node_view.CachedNode.of(view.node)
            return node_view.digest(node, view.is_reserved, False)

        for field, value in (
            ('instance_uuid', 'i'),
            ('power_state', 'power on'),
            ('provision_state', 'cleaning'),
            ('maintenance', True),
            ('resource_class', 'silver'),
            ('properties', {'cpus': 8}),
            ('traits', ('CUSTOM_A',)),
            ('unavailable', 'out_of_service'),
        ):
            self.assertNotEqual(digest(), digest(**{field: value}), field)
        self.assertEqual(
            digest(traits=('CUSTOM_A', 'CUSTOM_B')),
            digest(traits=('CUSTOM_B', 'CUSTOM_A')),
        )
        self.assertEqual(digest(), digest(target_power_state='power on'))
        node = node_view.CachedNode.of(support.view().node)
        self.assertNotEqual(digest(), node_view.digest(node, False, True))
