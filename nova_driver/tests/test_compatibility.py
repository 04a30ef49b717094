"""Internals of Nova on which the driver depends, in the installed release.

A failure here names what a new release of Nova has changed.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import types
import unittest
from unittest import mock

from nova import version
from nova.compute import manager, resource_tracker
from nova.scheduler.client import report
from nova.virt import driver as virt_driver
from nova.virt.ironic import driver as ironic_driver

from ironic_ownership_nova import compatibility, connection, operations
from ironic_ownership_nova import driver as driver_module
from ironic_ownership_nova import tracker as tracker_module
from ironic_ownership_nova.driver import OwnershipDriver

_IRONIC = ironic_driver.IronicDriver
_TRACKER = resource_tracker.ResourceTracker
_WRITES = {
    'attach_vif_to_node',
    'create_volume_target',
    'delete_volume_target',
    'detach_vif_from_node',
    'disable_node_console',
    'enable_node_console',
    'inject_nmi_to_node',
    'patch_node',
    'set_node_power_state',
    'set_node_provision_state',
    'update_node',
}


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

    def test_nothing_is_missing(self) -> None:
        self.assertEqual([], compatibility.missing())

    def test_missing_name_is_an_error_at_the_start(self) -> None:
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
        used = re.findall(r'\b(?:nova|reportclient)\.(\w+)', own)
        for module in (driver_module, tracker_module):
            used += re.findall(
                r'\b(?:objects_base|objects\.\w+)\.(\w+)', _source(module)
            )
        self.assertEqual(set(), set(used) - checked)

    def test_driver_is_named_as_nova_expects(self) -> None:
        # Nova keeps one identity for a host unless this word is in the name.
        self.assertIn("'ironic' in CONF.compute_driver", _source(manager))
        self.assertIn(
            "'nova.virt.%s' % compute_driver",
            _source(virt_driver.load_compute_driver),
        )


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

    def test_operations_have_an_instance(self) -> None:
        for name in operations.REFUSALS:
            self.assertIn(
                'instance',
                inspect.signature(getattr(_IRONIC, name)).parameters,
                name,
            )

    def test_no_other_operation_writes(self) -> None:
        # A write outside of all operations is guarded as well; its refusal
        # is then an error that Nova may not expect.
        writing = set()
        for name, method in inspect.getmembers(_IRONIC, inspect.isfunction):
            if name.startswith('_') or name in operations.REFUSALS:
                continue
            if set(_requests(_source(method))) & _WRITES:
                writing.add(name)
        self.assertEqual(set(), writing)

    def test_requests_are_known_as_reads_or_writes(self) -> None:
        used = set(_requests(_source(ironic_driver)))
        reads = {
            name
            for name in used
            if name in connection._READS
            or name.startswith(connection._READ_PREFIXES)
        }
        self.assertEqual(_WRITES, used - reads)
        self.assertEqual(
            {
                *('get_node', 'get_node_console', 'nodes', 'port_groups'),
                *('ports', 'validate_node', 'volume_connectors'),
                'volume_targets',
            },
            reads,
        )


def _requests(source: str) -> list[str]:
    return re.findall(r'ironic_connection\.([a-z_]+)', source)


class TrackerTest(unittest.TestCase):
    def test_pass_can_end_early(self) -> None:
        self.assertTrue(compatibility.skips_early())

    def test_another_order_is_noticed(self) -> None:
        def later(self, context, resources, startup=False):
            is_new = self._init_compute_node(context, resources)
            instances = self._read(context)
            if self.disabled(resources['hypervisor_hostname']):
                return
            self._use(instances, is_new)

        with mock.patch.object(_TRACKER, '_update_available_resource', later):
            self.assertFalse(compatibility.skips_early())

    def test_driver_is_asked_in_one_thread_in_this_order(self) -> None:
        # Resources first: there the driver decides whether to skip.
        calls = [
            node.func.attr
            for node in ast.walk(
                ast.parse(
                    textwrap.dedent(
                        _source(_TRACKER.update_available_resource)
                    )
                )
            )
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
        ]
        self.assertIn('get_available_resource', calls)
        self.assertLess(
            calls.index('get_available_resource'),
            calls.index('_update_available_resource'),
        )

    def test_tracker_is_reached(self) -> None:
        compute = types.SimpleNamespace(
            rt=_TRACKER('host1', driver=None, reportclient=mock.Mock()),
            reportclient=mock.Mock(),
        )
        virtapi = manager.ComputeVirtAPI(compute)
        self.assertIs(compute.rt, compatibility.tracker_of(virtapi))
        self.assertEqual(
            compatibility.Shortcuts(True, True),
            compatibility.shortcuts(virtapi, wanted=True),
        )
        self.assertTrue(hasattr(virtapi, 'reportclient'))

    def test_client_whose_providers_cannot_be_read_skips_nothing(self) -> None:
        client = mock.Mock(spec=list(compatibility.CLIENT))
        virtapi = types.SimpleNamespace(
            _compute=types.SimpleNamespace(
                rt=_TRACKER('host1', driver=None, reportclient=client)
            ),
            reportclient=client,
        )
        with self.assertLogs(compatibility.__name__, 'WARNING') as logged:
            found = compatibility.shortcuts(virtapi, wanted=True)
        self.assertEqual(compatibility.Shortcuts(True, False), found)
        self.assertIn('what Placement has', logged.output[0])

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

    def test_without_tracker_nova_goes_its_plain_way(self) -> None:
        with self.assertLogs(compatibility.__name__, 'WARNING') as logged:
            found = compatibility.shortcuts(object(), wanted=True)
        self.assertEqual(compatibility.Shortcuts(False, False), found)
        self.assertEqual(2, len(logged.records))

    def test_one_option_switches_all_off(self) -> None:
        self.assertEqual(
            compatibility.Shortcuts(False, False),
            compatibility.shortcuts(object(), wanted=False),
        )

    def test_tracker_takes_rows_of_nodes_that_it_does_not_know(self) -> None:
        # The reason why each node is made known to it before.
        source = _source(_TRACKER._init_compute_node)
        self.assertIn('cn.host = self.host', source)
        self.assertLess(
            source.index('if nodename in self.compute_nodes'),
            source.index('cn.host = self.host'),
        )

    def test_tracker_reads_the_name_of_a_node_before_its_row(self) -> None:
        # There the resources are confirmed, with the lock of the tracker.
        source = _source(_TRACKER._init_compute_node)
        self.assertLess(
            source.index("resources['hypervisor_hostname']"),
            source.index('in self.compute_nodes'),
        )
        source = _source(_TRACKER._update_available_resource)
        self.assertIn('self._init_compute_node(context, resources)', source)

    def test_orphans_are_left_if_the_driver_says_so(self) -> None:
        source = _source(manager.ComputeManager.update_available_resource)
        self.assertLess(
            source.index('self.driver.is_node_deleted'),
            source.index('cn.destroy()'),
        )
        self.assertIn('except exception.VirtDriverNotReady', source)

    def test_a_moved_node_ends_one_update_only(self) -> None:
        self.assertIn(
            'except exception.ComputeHostNotFound',
            _source(
                manager.ComputeManager._update_available_resource_for_node
            ),
        )

    def test_refused_preparation_is_rescheduled(self) -> None:
        source = _source(manager.ComputeManager._build_and_run_instance)
        handler = source.index('except exception.ComputeResourcesUnavailable')
        self.assertLess(
            handler, source.index('raise exception.RescheduledException')
        )

    def test_refused_deletion_keeps_the_addresses(self) -> None:
        source = _source(manager.ComputeManager._shutdown_instance)
        self.assertLess(
            source.index('except exception.InstancePowerOffFailure'),
            source.index('_try_deallocate_network'),
        )
