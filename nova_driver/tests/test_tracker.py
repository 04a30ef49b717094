"""The tracker of Nova is real; the cell and Placement are not."""

from __future__ import annotations

import copy
import datetime
import pathlib
import threading
import time
import types
import unittest
from unittest import mock

from nova import exception, objects, utils
from nova.compute import provider_tree, resource_tracker
from oslo_concurrency import lockutils

from ironic_ownership_nova import compatibility, reported
from ironic_ownership_nova import tracker as tracker_module
from ironic_ownership_nova.tracker import Report, Tracker
from tests import support
from tests.support import row

FREE, OTHER = support.FREE, support.OTHER


class TrackerCase(unittest.TestCase):
    shortcuts = True
    follows_records = True

    def setUp(self) -> None:
        objects.register_all()
        self.client = mock.Mock()
        self.nova = resource_tracker.ResourceTracker(
            'host1', None, reportclient=self.client
        )
        self.nova.service_ref = objects.Service(id=1, host='host1')
        virtapi = types.SimpleNamespace(
            _compute=types.SimpleNamespace(rt=self.nova)
        )
        self.reported = reported.ReportedNodes(
            pathlib.Path('/dev/null/x'), '', 1000
        )
        self.tracker = Tracker(
            'host1',
            self.reported,
            shortcuts=compatibility.shortcuts(virtapi, self.shortcuts),
            follows_records=self.follows_records,
        )
        patch = mock.patch.object(
            objects.ComputeNodeList, 'get_all_by_uuids', return_value=[]
        )
        self.rows = patch.start()
        self.addCleanup(patch.stop)
        self.owned = {u: support.view(u) for u in (FREE, OTHER)}

    def offer(self) -> frozenset[str]:
        return self.tracker.offer(self.owned)


class OfferTest(TrackerCase):
    def test_own_rows_are_made_known_with_one_call(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER)]
        self.assertEqual({FREE, OTHER}, self.offer())
        self.assertEqual({FREE, OTHER}, set(self.nova.compute_nodes))
        self.assertEqual({FREE, OTHER}, self.offer())
        # A steady pass reads no row.
        self.rows.assert_called_once_with(mock.ANY, [FREE, OTHER])

    def test_claim_works_before_anything_was_reported(self) -> None:
        """After a start that skips all nodes Nova has not reported one."""
        self.rows.return_value = [row(FREE)]
        self.offer()
        wanted = {FREE: {'resources': {'CUSTOM_BAREMETAL': 1}}}
        self.assertEqual([], self.nova._claim_resources(wanted) or [])
        # Nova creates the row that is missing.
        self.tracker.require(OTHER)
        self.assertNotIn(OTHER, self.nova.compute_nodes)

    def test_row_of_another_service_is_withheld(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER, 'host2')]
        with self.assertLogs(tracker_module.__name__, 'WARNING') as logged:
            self.assertEqual({FREE}, self.offer())
            self.offer()  # reported once
        self.assertEqual(1, len(logged.records))
        self.tracker.require(FREE)
        with self.assertRaises(exception.ComputeHostNotFound):
            self.tracker.require(OTHER)

    def test_node_that_nova_lost_since_is_not_taken_back(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER)]
        self.offer()
        # Nova drops what the cell does not have for this service any more.
        self.nova.clean_compute_node_cache([row(FREE)])
        with self.assertRaises(exception.ComputeHostNotFound):
            self.tracker.require(OTHER)


class OwnDatabaseTest(TrackerCase):
    follows_records = False

    def test_nova_moves_rows_of_free_nodes_only(self) -> None:
        self.owned[OTHER] = support.view(OTHER, instance_uuid='i')
        self.rows.return_value = [row(FREE, 'host2'), row(OTHER, 'host2')]
        with self.assertLogs(tracker_module.__name__, 'WARNING'):
            self.assertEqual({FREE}, self.offer())
        self.assertEqual({}, self.nova.compute_nodes)


class PlainTest(TrackerCase):
    shortcuts = False

    def test_rows_are_read_in_each_pass_and_nova_loads_them(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER, 'host2')]
        with self.assertLogs(tracker_module.__name__, 'WARNING'):
            for _ in range(2):
                self.assertEqual({FREE}, self.offer())
        self.assertEqual({}, self.nova.compute_nodes)
        self.tracker.require(FREE)
        with self.assertRaises(exception.ComputeHostNotFound):
            self.tracker.require(OTHER)
        self.assertEqual(2, self.rows.call_count)
        # Nothing is skipped.
        self.reported.add(FREE, 'a')
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))

    def test_gained_and_lost_nodes_wait_for_the_next_pass(self) -> None:
        self.nova.compute_nodes[FREE] = row(FREE)
        self.tracker.lost([FREE])
        self.tracker.gained({OTHER: support.view(OTHER)})
        self.assertEqual({FREE}, set(self.nova.compute_nodes))


class ChangesTest(TrackerCase):
    def test_gained_nodes_are_known_once_nova_has_started(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER, 'host2')]
        started = self.nova.service_ref
        self.nova.service_ref = None
        self.tracker.gained(self.owned)
        self.rows.assert_not_called()
        self.nova.service_ref = started
        self.tracker.gained(self.owned)
        self.assertEqual({FREE}, set(self.nova.compute_nodes))

    def test_node_that_others_may_have_had_is_reported_again(self) -> None:
        self.rows.return_value = [row(FREE), row(OTHER)]
        self.offer()
        self.reported.add(FREE, 'a')
        self.tracker.gained({FREE: support.view(FREE, epoch=1)})
        self.assertTrue(self.tracker.can_skip(FREE, 'a'))
        self.tracker.gained({FREE: support.view(FREE, epoch=2)})
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))
        # Also if the next pass comes before they are followed.
        self.reported.add(FREE, 'a')
        self.owned[FREE] = support.view(FREE, epoch=3)
        self.offer()
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))
        self.assertEqual(3, self.reported.epoch)
        self.reported.add(FREE, 'a')
        self.tracker.lost([FREE])
        self.assertEqual({OTHER}, set(self.nova.compute_nodes))
        self.client.invalidate_resource_provider.assert_called_once_with(FREE)
        self.offer()
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))

    def test_updates_of_other_nodes_do_not_delay_the_loss_of_many(
        self,
    ) -> None:
        """Their locks are fair: each removal would wait for an update."""
        self.rows.return_value = [row(FREE), row(OTHER)]
        self.offer()
        lock = lockutils.internal_fair_lock(
            resource_tracker.COMPUTE_RESOURCE_SEMAPHORE
        )
        order: list[str] = []
        remove = self.nova.remove_node

        @utils.synchronized(
            resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True
        )
        def update() -> None:
            order.append('update')

        update_of_another = threading.Thread(target=update)

        def observed(uuid: str) -> None:
            remove(uuid)
            order.append(uuid)
            if len(order) == 1:
                update_of_another.start()
                while not lock.has_pending_writers:
                    time.sleep(0.001)

        self.nova.remove_node = observed
        # Nor is their provider in the cache when a claim copies that.
        locked = self.client.invalidate_resource_provider
        locked.side_effect = lambda _: self.assertTrue(lock.is_writer())
        self.tracker.lost([FREE, OTHER])
        update_of_another.join()
        self.assertEqual([FREE, OTHER, 'update'], order)
        self.assertEqual(2, locked.call_count)


class StoredTest(TrackerCase):
    """The file of the last start has a report of the node."""

    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 600000, datetime.UTC)

    def can_skip(self, updated_at: datetime.datetime | None) -> bool:
        self.reported.add(FREE, 'a', self.at.timestamp())
        self.nova.compute_nodes.clear()
        found = row(FREE)
        found.updated_at = updated_at
        self.rows.return_value = [found]
        self.offer()
        return self.tracker.can_skip(FREE, 'a')

    def test_row_that_others_have_not_written_since_is_skipped(self) -> None:
        # A column without fractions cuts them off, or rounds.
        for second in (5, 6):
            self.assertTrue(
                self.can_skip(self.at.replace(second=second, microsecond=0))
            )

    def test_row_that_another_service_has_had_is_reported_again(self) -> None:
        later = self.at + datetime.timedelta(seconds=30)
        for updated_at in (later, None):
            self.assertFalse(self.can_skip(updated_at))


class FailedBuildTest(TrackerCase):
    def test_failed_build_is_stored_in_the_next_pass(self) -> None:
        """The scheduler avoids a node by this number."""
        self.rows.return_value = [row(FREE)]
        self.offer()
        self.reported.add(FREE, 'a')
        self.assertTrue(self.tracker.can_skip(FREE, 'a'))
        self.nova.build_failed(FREE)
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))
        self.nova.compute_nodes[FREE].stats = {'failed_builds': '1'}
        self.assertTrue(self.tracker.can_skip(FREE, 'a'))
        self.nova.build_succeeded(FREE)
        self.assertFalse(self.tracker.can_skip(FREE, 'a'))


class ConfirmTest(TrackerCase):
    def setUp(self) -> None:
        super().setUp()
        self.rows.return_value = [row(FREE), row(OTHER)]
        self.offer()
        self.tree = provider_tree.ProviderTree()
        self.tree.new_root(FREE, FREE, 1)
        self.tree.update_inventory(FREE, {'CUSTOM_GOLD': {'total': 1}})
        self.tree.update_traits(FREE, ['CUSTOM_A'])
        self.read = self.client.get_provider_subtree_and_ensure_root
        self.read.return_value = copy.deepcopy(self.tree)
        self.nova.old_resources[FREE] = copy.deepcopy(
            self.nova.compute_nodes[FREE]
        )
        self.tracker.sent(FREE, Report('a', self.tree))

    def is_confirmed(self) -> bool:
        self.tracker.confirm()
        return self.tracker.can_skip(FREE, 'a')

    def test_what_did_not_arrive_is_not_skipped(self) -> None:
        for name, fail in (
            (
                'another inventory',
                lambda test: test.tree.update_inventory(
                    FREE, {'CUSTOM_GOLD': {'total': 2}}
                ),
            ),
            (
                'another trait',
                lambda test: test.tree.update_traits(
                    FREE, ['CUSTOM_A', 'CUSTOM_B']
                ),
            ),
            (
                'a row that was not stored',
                lambda test: setattr(
                    test.nova.compute_nodes[FREE], 'memory_mb', 7
                ),
            ),
            (
                'no answer',
                lambda test: setattr(test.read, 'side_effect', OSError),
            ),
            # A report in between counts.
            ('another report', lambda test: test.tracker.sent(FREE, None)),
        ):
            with self.subTest(name):
                self.doCleanups()
                self.setUp()
                self.reported.add(FREE, 'a')
                self.tracker.sent(FREE, Report('a', self.tree))
                # Sent is not yet reported.
                self.assertFalse(self.tracker.can_skip(FREE, 'a'))
                fail(self)
                self.assertFalse(self.is_confirmed())

    def test_what_arrived_is_skipped(self) -> None:
        lock = lockutils.internal_fair_lock(
            resource_tracker.COMPUTE_RESOURCE_SEMAPHORE
        )
        tree = self.read.return_value
        # A claim in between would delete what its copy of the cache lacks.
        self.read.side_effect = lambda *_, **__: (
            self.assertTrue(lock.is_writer()) or tree
        )
        # The file of this test is new.
        with self.assertLogs(reported.__name__, 'WARNING'):
            self.assertTrue(self.is_confirmed())
        self.read.assert_called_once_with(mock.ANY, FREE, name=FREE)
        self.assertFalse(self.tracker.can_skip(FREE, 'b'))
