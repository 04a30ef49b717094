"""Internals of Nova on which the driver depends, in the installed release.

A failure here names what a new release of Nova has changed.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import unittest
from unittest import mock

from nova import version
from nova.compute import manager, resource_tracker
from nova.scheduler.client import report
from nova.virt import driver as virt_driver
from nova.virt.ironic import driver as ironic_driver

from ironic_ownership_nova import compatibility, operations
from ironic_ownership_nova import driver as driver_module
from ironic_ownership_nova import tracker as tracker_module
from ironic_ownership_nova.driver import OwnershipDriver
from tests.test_signed_requests import WRITES

_IRONIC = ironic_driver.IronicDriver
_TRACKER = resource_tracker.ResourceTracker


def _source(function: object) -> str:
    return inspect.getsource(inspect.unwrap(function))


class ReleaseTest(unittest.TestCase):
    def test_release_is_one_that_was_tried(self) -> None:
        self.assertIn(
            version.version_string().split('.')[0], compatibility.TRIED
        )

    def test_earlier_release_is_refused_in_one_line(self) -> None:
        with (
            mock.patch.object(version, 'version_string', return_value='32.2'),
            self.assertRaisesRegex(Exception, 'needs Nova 33 .* is 32.2$'),
        ):
            compatibility.require()

    def test_eventlet_is_warned_about(self) -> None:
        # Nova keeps it from being imported where it uses native threads.
        patcher = types.SimpleNamespace(is_monkey_patched='thread'.__eq__)
        with (
            mock.patch.dict(sys.modules, {'eventlet.patcher': patcher}),
            self.assertLogs(compatibility.LOG.logger) as logs,
        ):
            compatibility.require()
        self.assertIn(compatibility.THREADS, logs.output[0])
        with self.assertNoLogs(compatibility.LOG.logger):
            compatibility.require()

    def test_missing_name_is_an_error_at_the_start(self) -> None:
        self.assertEqual([], compatibility.missing())
        plain = types.SimpleNamespace(node_is_available=None)
        with (
            mock.patch.object(ironic_driver, 'IronicDriver', plain),
            self.assertRaisesRegex(Exception, r'lacks: .*_refresh_cache'),
        ):
            compatibility.require()

    def test_every_name_that_is_used_is_checked(self) -> None:
        checked = {
            *(name for _, name in compatibility.CALLED),
            *(*compatibility.TRACKER, *compatibility.CLIENT),
        }
        own = _source(tracker_module).split('LOG = ')[1]
        used = re.findall(r'(?=\b(?:_?nova|reportclient)\.(\w+))', own)
        for module in (driver_module, tracker_module):
            used += re.findall(
                r'\b(?:objects_base|objects\.\w+)\.(\w+)', _source(module)
            )
        self.assertEqual(set(), set(used) - checked)


class SignaturesTest(unittest.TestCase):
    def test_overridden_methods_take_the_arguments_of_nova(self) -> None:
        for name in (
            *('init_host', 'cleanup_host', 'get_available_nodes'),
            *('get_available_resource', 'node_is_available'),
            *('is_node_deleted', 'update_provider_tree', '_refresh_cache'),
            *('_refresh_hash_ring', '__init__'),
        ):
            self.assertEqual(
                list(inspect.signature(getattr(_IRONIC, name)).parameters),
                list(
                    inspect.signature(
                        getattr(OwnershipDriver, name)
                    ).parameters
                ),
                name,
            )

    def test_operations_have_an_instance_and_no_other_writes(self) -> None:
        for name in operations.REFUSALS:
            taken = inspect.signature(getattr(_IRONIC, name)).parameters
            self.assertIn('instance', taken, name)
        # A write outside of all operations is guarded as well; its refusal
        # is then an error that Nova may not expect.
        writing = set()
        for name, method in inspect.getmembers(_IRONIC, inspect.isfunction):
            if name.startswith('_') or name in operations.REFUSALS:
                continue
            if set(_requests(_source(method))) & {*WRITES}:
                writing.add(name)
        self.assertEqual(set(), writing)


def _requests(source: str) -> list[str]:
    return re.findall(r'ironic_connection\.([a-z_]+)', source)


class OrderTest(unittest.TestCase):
    def test_source_of_nova_is_in_this_order(self) -> None:
        compute, tracker = manager.ComputeManager, _TRACKER
        for function, *parts in (
            # Nova keeps one identity for a host unless this is in the name.
            (manager, "'ironic' in CONF.compute_driver"),
            (
                virt_driver.load_compute_driver,
                "'nova.virt.%s' % compute_driver",
            ),
            # Resources first: there the driver decides whether to skip.
            (
                tracker.update_available_resource,
                *('.get_available_resource(', '._update_available_resource('),
            ),
            # The reason why each node is made known to the tracker before;
            # the resources are confirmed with the lock of the tracker.
            (
                tracker._init_compute_node,
                "resources['hypervisor_hostname']",
                *('if nodename in self.compute_nodes', 'cn.host = self.host'),
            ),
            (
                tracker._update_available_resource,
                'self._init_compute_node(context, resources)',
            ),
            # Orphans are left if the driver says so.
            (
                compute.update_available_resource,
                *('self.driver.is_node_deleted', 'cn.destroy()'),
            ),
            (
                compute.update_available_resource,
                'except exception.VirtDriverNotReady',
            ),
            # A node that was moved ends one update only.
            (
                compute._update_available_resource_for_node,
                'except exception.ComputeHostNotFound',
            ),
            # A refused preparation is rescheduled.
            (
                compute._build_and_run_instance,
                'except exception.ComputeResourcesUnavailable',
                'raise exception.RescheduledException',
            ),
            # A refused deletion keeps the addresses.
            (
                compute._shutdown_instance,
                'except exception.InstancePowerOffFailure',
                '_try_deallocate_network',
            ),
        ):
            with self.subTest(function):
                places = [_source(function).find(part) for part in parts]
                self.assertNotIn(-1, places)
                self.assertEqual(sorted(places), places)


class TrackerTest(unittest.TestCase):
    def test_another_order_is_noticed(self) -> None:
        self.assertTrue(compatibility.skips_early())

        def later(self, context, resources, startup=False):
            is_new = self._init_compute_node(context, resources)
            instances = self._read(context)
            if self.disabled(resources['hypervisor_hostname']):
                return
            self._use(instances, is_new)

        with mock.patch.object(_TRACKER, '_update_available_resource', later):
            self.assertFalse(compatibility.skips_early())

    def test_tracker_is_reached(self) -> None:
        client = mock.Mock()
        compute = types.SimpleNamespace(
            rt=_TRACKER('host1', driver=None, reportclient=client),
            reportclient=client,
        )
        virtapi = manager.ComputeVirtAPI(compute)
        for name in compatibility.TREE_READERS:
            self.assertEqual(
                compatibility.Shortcuts(compute.rt, getattr(client, name)),
                compatibility.shortcuts(virtapi, wanted=True),
            )
            # An older Nova has only the next one.
            delattr(client, name)
        with self.assertLogs(compatibility.__name__, 'WARNING') as logged:
            found = compatibility.shortcuts(virtapi, wanted=True)
        self.assertEqual(compatibility.Shortcuts(compute.rt), found)
        self.assertIn('what Placement has', logged.output[0])

    def test_without_tracker_nova_goes_its_plain_way(self) -> None:
        none = compatibility.Shortcuts()
        with self.assertLogs(compatibility.__name__, 'WARNING') as logged:
            found = compatibility.shortcuts(object(), wanted=True)
        self.assertEqual(none, found)
        self.assertEqual(2, len(logged.records))
        # One option switches all off.
        found = compatibility.shortcuts(object(), wanted=False)
        self.assertEqual(none, found)

    def test_readers_of_providers_take_the_same_arguments(self) -> None:
        client = report.SchedulerReportClient
        found = [getattr(client, n, None) for n in compatibility.TREE_READERS]
        self.assertTrue(any(found))
        for read in filter(None, found):
            inspect.signature(read).bind(client, 'context', 'a', name='a')

    def test_operations_end_before_the_driver_exits(self) -> None:
        has_tasks = hasattr(manager.ComputeManager, compatibility.WAIT)
        # Nova 33 does not know which are in progress, and waits longest.
        wait = f'self.{compatibility.WAIT}(' if has_tasks else 'time.sleep('
        stop = _source(manager.ComputeManager.graceful_shutdown)
        self.assertLess(stop.index(wait), stop.index('self.cleanup_host()'))
