"""The driver with Nova's real one and its real tracker."""

from __future__ import annotations

import functools
import pathlib
import tempfile
import types
import unittest
from collections.abc import Callable
from unittest import mock

import nova.conf
from nova import exception, objects, rpc
from nova.compute import manager, provider_tree, resource_tracker
from nova.virt import driver as virt_driver
from nova.virt.ironic import driver as ironic_driver
from nova.virt.ironic import patcher
from openstack import exceptions as sdk_exceptions
from openstack.baremetal.v1 import node as baremetal

from ironic_ownership.embedding import NO_INSTANCE, FeedChanges, exceptions
from ironic_ownership_nova import driver as driver_module
from ironic_ownership_nova import launcher, operations
from tests import support

CONF = nova.conf.CONF
FREE, OTHER = support.FREE, support.OTHER


class DriverCase(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        path = pathlib.Path(home.name) / 'ironic-ownership.conf'
        path.write_text(
            '[database]\nconnection = sqlite://\n[nova]\ncell_schema = nova\n'
        )
        CONF([], project='nova', default_config_files=[])
        self.addCleanup(CONF.reset)
        for name, value, group in (
            ('host', 'host1', None),
            ('state_path', home.name, None),
            ('config_file', [str(path)], 'ironic_ownership'),
            ('conductor_failures', 0, 'ironic_ownership'),
        ):
            CONF.set_override(name, value, group)
            self.addCleanup(CONF.clear_override, name, group)
        objects.register_all()
        self.patch(driver_module, 'EmbeddedHost', self.embedded_host)
        self.rows = self.patch(
            objects.ComputeNodeList, 'get_all_by_uuids', return_value=[]
        )
        self.patch(driver_module, 'get_admin_context')
        self.service = self.patch(
            objects.Service,
            'get_by_host_and_binary',
            return_value=objects.Service(id=1, host='host1', disabled=False),
        )
        self.adapter = mock.Mock()
        self.patch(
            ironic_driver.IronicDriver,
            'ironic_connection',
            self.adapter,
        )
        self.patch(rpc, 'get_client')
        self.compute = types.SimpleNamespace(reportclient=mock.Mock())
        self.driver = self.load()
        self.compute.rt = self.tracker = resource_tracker.ResourceTracker(
            'host1', self.driver, reportclient=self.compute.reportclient
        )
        self.tracker.service_ref = objects.Service(id=1, host='host1')
        self.driver.init_host('host1')
        self.addCleanup(self.driver._service.stop)
        self.guard = support.Guard()
        self.driver.action_guard._permit = self.guard

    def load(self) -> driver_module.OwnershipDriver:
        return driver_module.OwnershipDriver(
            manager.ComputeVirtAPI(self.compute)
        )

    def patch(self, target: object, name: str, *new: object, **how: object):
        patch = mock.patch.object(target, name, *new, **how)
        self.addCleanup(patch.stop)
        return patch.start()

    def embedded_host(self, *, on_lost_place, **settings) -> support.Host:
        self.host = support.Host(on_lost_place)
        self.host.feed = support.Feed(support.view(FREE), support.view(OTHER))
        self.settings = settings
        return self.host


class NodesTest(DriverCase):
    def test_nodes_come_from_the_records_without_a_request(self) -> None:
        self.assertEqual([FREE, OTHER], self.driver.get_available_nodes())
        self.assertEqual([], self.driver.list_instance_uuids())
        self.host.feed.views.clear()
        self.assertEqual([], self.driver.get_available_nodes())
        self.assertEqual([], self.driver.list_instances())
        self.assertEqual([], self.adapter.method_calls)
        # The ring of Nova is not used.
        self.driver._refresh_hash_ring(None)
        self.assertFalse(hasattr(self.driver, 'hash_ring'))
        # Nova deletes no record.
        self.adapter.get_node.side_effect = sdk_exceptions.NotFoundException
        self.assertFalse(self.driver.is_node_deleted(FREE))

    def test_nova_describes_them_as_those_of_its_own_driver(self) -> None:
        self.driver.get_available_nodes()
        found = self.driver.get_available_resource(FREE)
        plain = ironic_driver.IronicDriver(None)
        node = baremetal.Node.existing(
            uuid=FREE,
            power_state='power off',
            provision_state='available',
            resource_class='gold',
            properties=support.view().node.properties,
            traits=[],
        )
        self.assertEqual(plain._node_resource(node), found)
        self.assertEqual(
            (FREE, 'gold'), (found['uuid'], found['resource_class'])
        )

    def test_service_that_may_not_act_has_no_pass(self) -> None:
        self.host.feed.is_complete = False
        with self.assertRaises(exception.VirtDriverNotReady):
            self.driver.get_available_nodes()

    def test_pass_that_the_stop_overtakes_does_not_begin(self) -> None:
        def read(context: object, uuids: object) -> list[object]:
            self.driver._service.close()
            return []

        self.rows.side_effect = read
        with self.assertRaises(exception.VirtDriverNotReady):
            self.driver.get_available_nodes()

    def test_pass_that_the_loss_of_all_nodes_overtakes_skips_them(
        self,
    ) -> None:
        self.driver.get_available_nodes()

        def lose(uuid: str) -> None:
            self.driver._service.close()
            self.driver._lose({FREE, OTHER})

        with (
            mock.patch.object(self.driver._tracker, 'require', lose),
            # Which Nova logs in one line, without a traceback.
            self.assertRaises(exception.ComputeHostNotFound),
        ):
            self.driver.get_available_resource(FREE)

    def test_gained_and_lost_nodes_follow_at_once(self) -> None:
        self.driver.get_available_nodes()
        self.rows.return_value = [support.row()]
        gained = {FREE: support.view(FREE)}
        self.driver._follow(FeedChanges(1, gained, lost={OTHER}))
        self.assertEqual({FREE}, set(self.tracker.compute_nodes))
        self.assertEqual({FREE}, set(self.driver.node_cache))
        # After a reset it is compared with all nodes that are owned now.
        self.driver._follow(FeedChanges(2, reset=True))
        self.assertEqual({}, self.tracker.compute_nodes)

    def test_node_that_is_lost_while_its_row_is_read_is_not_offered(
        self,
    ) -> None:
        rows = [support.row(uuid) for uuid in (FREE, OTHER)]

        def read(context: object, uuids: object) -> list[object]:
            del self.host.feed.views[OTHER]
            self.driver._follow(FeedChanges(1, lost={OTHER}))
            return rows

        self.rows.side_effect = read
        self.assertEqual([FREE], self.driver.get_available_nodes())
        self.assertEqual({FREE}, set(self.tracker.compute_nodes))
        with self.assertRaises(exception.ComputeHostNotFound):
            self.driver.get_available_resource(OTHER)

    def test_lost_node_is_followed_while_nova_fills_the_cache(self) -> None:
        cache = self.driver.node_cache

        class Lost(frozenset[str]):
            """Nodes between which another thread reads one from Ironic."""

            def __contains__(self, uuid: object) -> bool:
                cache[f'other than {uuid}'] = None
                return super().__contains__(uuid)

        self.driver.get_available_nodes()
        cache = self.driver.node_cache
        self.driver._follow(FeedChanges(1, lost=Lost([OTHER])))
        self.assertNotIn(OTHER, self.driver.node_cache)
        self.assertIn(FREE, self.driver.node_cache)

    def test_new_service_claims_again_once_nova_has_added_it(self) -> None:
        self.driver.get_available_nodes()
        # A known one does not.
        self.assertNotIn('refresh', self.host.calls)
        self.service.return_value = None
        self.driver.init_host('host1')
        # Nova does not start if a new one has instances.
        foreign = support.view(FREE, instance_uuid='foreign')
        self.host.feed.views[FREE] = foreign
        self.assertEqual([], self.driver.list_instance_uuids())
        self.driver.get_available_nodes()
        self.assertNotIn('refresh', self.host.calls)
        self.service.return_value = objects.Service(
            id=1, host='host1', disabled=False
        )
        for _ in range(2):
            self.driver.get_available_nodes()
        self.assertEqual(1, self.host.calls.count('refresh'))
        self.assertEqual(['foreign'], self.driver.list_instance_uuids())
        # Nova 33 would look it up, and synchronize no power state.
        self.assertEqual(1, self.driver.get_num_instances())

    def test_host_in_another_case_than_in_the_cell_ends_the_start(
        self,
    ) -> None:
        """All rows would name the service in the cell, and be withheld."""
        self.service.return_value.host = 'Host1'
        with self.assertRaisesRegex(
            exception.InvalidConfiguration, 'host = Host1'
        ):
            self.load().init_host('host1')

    def test_process_that_lost_its_place_exits_after_its_operations(
        self,
    ) -> None:
        done: list[object] = []
        self.compute._wait_for_in_progress_tasks = done.append
        self.patch(driver_module, 'exit_process', lambda: done.append('exit'))
        self.driver.cleanup_host('host1')
        self.assertEqual('stop', self.host.calls[-1])
        self.assertEqual([], done)
        self.driver._service.is_ending = True
        self.driver.cleanup_host('host1')
        self.assertEqual([20, 'exit'], done)

    def test_error_of_the_configuration_ends_the_start(self) -> None:
        self.patch(
            driver_module,
            'EmbeddedHost',
            side_effect=exceptions.ConfigurationError(['no policy']),
        )
        with self.assertRaisesRegex(
            exception.InvalidConfiguration, 'no policy'
        ):
            self.load().init_host('host1')


class PassTest(DriverCase):
    """A pass of Nova's tracker for one node."""

    def setUp(self) -> None:
        super().setUp()
        self.rows.return_value = [
            support.row(uuid, service_id=1) for uuid in (FREE, OTHER)
        ]
        self.instances = self.patch(
            objects.InstanceList,
            'get_by_host_and_node',
            side_effect=_PassWentOnError,
        )
        self.patch(resource_tracker.ResourceTracker, '_setup_pci_tracker')
        self.driver.get_available_nodes()

    def run_pass(self, uuid: str = FREE) -> bool:
        """Return whether Nova went on after the driver's answer."""
        try:
            self.tracker.update_available_resource(mock.MagicMock(), uuid)
        except _PassWentOnError:
            return True
        return False

    def report(self, uuid: str = FREE) -> None:
        self.driver._reported.add(
            uuid,
            driver_module.digest(self.driver.node_cache[uuid], False, False),
        )

    def test_unchanged_node_costs_nothing(self) -> None:
        self.assertTrue(self.run_pass())
        self.instances.reset_mock()
        self.report()
        self.assertFalse(self.run_pass())
        self.instances.assert_not_called()
        self.assertTrue(self.run_pass(OTHER))
        self.host.feed.views[FREE] = support.view(FREE, maintenance=True)
        self.driver.get_available_nodes()
        self.assertTrue(self.run_pass())
        self.tracker.clean_compute_node_cache([])
        # One that was moved away is left alone.
        with self.assertRaises(exception.ComputeHostNotFound):
            self.run_pass()

    def test_service_that_was_disabled_or_enabled_reports_all(self) -> None:
        """Nova sets a trait on each node by it."""
        for is_disabled in (True, False):
            self.service.return_value.disabled = is_disabled
            self.driver.get_available_nodes()
            self.assertTrue(self.run_pass(), is_disabled)
            self.driver.update_provider_tree(mock.Mock(), FREE)
            self.driver._reported.add(
                FREE, self.driver._tracker._sent[FREE].digest
            )
            self.driver.get_available_nodes()
            self.assertFalse(self.run_pass(), is_disabled)

    def test_node_that_changes_while_it_is_described_is_sent_again(
        self,
    ) -> None:
        describe = self.driver._node_resource

        def changed(node: object) -> object:
            found = describe(node)
            self.host.feed.views[FREE] = support.view(FREE, maintenance=True)
            self.driver._refresh_cache()
            return found

        tree = provider_tree.ProviderTree()
        tree.new_root(FREE, FREE)
        self.driver._node_resource = changed
        self.driver.update_provider_tree(tree, FREE)
        self.assertEqual({}, self.driver._tracker._sent)
        self.driver._node_resource = describe
        self.driver.update_provider_tree(tree, FREE)
        self.assertEqual({FREE}, {*self.driver._tracker._sent})

    def test_deletion_goes_on_when_the_right_to_act_has_ended(self) -> None:
        self.host.feed.is_complete = False
        self.driver.node_cache = {}
        self.assertFalse(self.driver.node_is_available(FREE))

    def test_answer_is_for_one_pass_only(self) -> None:
        self.report()
        self.assertFalse(self.run_pass())
        # A claim in the same thread.
        self.assertTrue(self.driver.node_is_available(FREE))
        self.assertFalse(self.tracker.disabled(FREE))

    def interrupt(self, work: Callable[[], object]) -> objects.ComputeNode:
        """Do something between the driver's answer and Nova's lock.

        :returns: the row that Nova finds afterwards: another service has it.
        """
        row = support.row(host='host2', deleted=False)
        tracker = resource_tracker.ResourceTracker
        self.patch(tracker, '_get_compute_node', return_value=row)
        self.patch(tracker, '_update')
        self.patch(
            tracker,
            '_report_hypervisor_resource_view',
            side_effect=lambda resources: work(),
        )
        return row

    def test_node_that_is_lost_during_the_pass_is_not_taken(self) -> None:
        lost = FeedChanges(1, lost={FREE})
        row = self.interrupt(lambda: self.driver._follow(lost))
        with self.assertRaises(exception.ComputeHostNotFound):
            self.run_pass()
        self.assertEqual('host2', row.host)

    def test_node_of_a_process_that_was_frozen_is_not_taken_or_reported(
        self,
    ) -> None:
        """Its new owner reports it, and would not correct what is written."""
        for ends in ('is_complete', 'views'):
            for known in (True, False):
                self.tracker.clean_compute_node_cache([])
                self.rows.return_value = []
                self.embedded_host(on_lost_place=None)
                self.driver._service._host = self.host
                self.driver.get_available_nodes()
                if known:
                    self.tracker.compute_nodes[FREE] = support.row()
                row = self.interrupt(
                    lambda name=ends: setattr(self.host.feed, name, {})
                )
                with self.assertRaises(exception.ComputeHostNotFound):
                    self.run_pass()
                self.assertEqual('host2', row.host)
                self.tracker._update.assert_not_called()

    def test_node_that_is_out_of_service_is_reserved_until_it_is_back(
        self,
    ) -> None:
        tree = provider_tree.ProviderTree()
        tree.new_root(FREE, FREE, 1)
        for code, reserved in (
            (None, 0),
            ('out_of_service', 1),
            ('in_use', 0),
            ('retired', 1),
            (None, 0),
        ):
            self.host.feed.views[FREE] = support.view(FREE, unavailable=code)
            self.driver.get_available_nodes()
            # It has changed: no pass skips it.
            self.assertTrue(self.run_pass(), code)
            self.driver.update_provider_tree(tree, FREE)
            [inventory] = tree.data(FREE).inventory.values()
            self.assertEqual(
                (1, reserved), (inventory['total'], inventory['reserved'])
            )
            self.driver._reported.add(
                FREE, self.driver._tracker._sent[FREE].digest
            )
            self.assertFalse(self.run_pass(), code)

    def test_report_is_confirmed_when_the_next_node_has_its_turn(self) -> None:
        tracker = self.driver._tracker
        self.report()
        failing = mock.Mock()
        failing.update_inventory.side_effect = ValueError
        with self.assertRaises(ValueError):
            self.driver.update_provider_tree(failing, FREE)
        self.assertTrue(self.run_pass())
        self.patch(tracker, '_arrived', return_value=True)
        self.run_pass()
        tree = mock.Mock()
        self.driver.update_provider_tree(tree, FREE)
        self.assertEqual({FREE}, set(tracker._sent))
        self.assertIs(tree, tracker._sent[FREE].tree)
        # Until Placement has confirmed it.
        self.assertFalse(tracker.can_skip(FREE, tracker._sent[FREE].digest))
        self.run_pass(OTHER)
        # Thousands of trees are not kept until the end of a pass.
        self.assertEqual({}, tracker._sent)
        self.assertFalse(self.run_pass())


class _PassWentOnError(Exception):
    pass


class ActionsTest(DriverCase):
    """Nova's operations up to the request that Ironic would get."""

    def setUp(self) -> None:
        super().setUp()
        self.node = types.SimpleNamespace(
            id=FREE,
            instance_id=None,
            is_maintenance=False,
            power_state='power off',
            provision_state='available',
            target_power_state=None,
        )
        self.adapter.get_node.return_value = self.node
        self.adapter.nodes.side_effect = lambda **query: iter([self.node])
        self.adapter.volume_targets.return_value = []
        self.adapter.set_node_provision_state.side_effect = self.provision
        self.instance = mock.MagicMock(uuid='i', node=FREE)
        self.instance.get = {'node': FREE}.get

    def provision(self, node: object, target: str, **words: object) -> None:
        # At once: Nova would wait for ever after a write by mistake.
        self.node.provision_state = {
            'deleted': 'available',
            'rescue': 'rescue',
        }.get(target, 'active')

    def refuse(self) -> None:
        self.guard.refusal = exceptions.NotOwnerError('of host2')

    def writes(self) -> list[str]:
        return [
            name
            for name, *_ in self.adapter.method_calls
            if name.startswith(('set_', 'update_', 'attach_', 'patch_'))
        ]

    def test_preparation_that_is_refused_is_rescheduled(self) -> None:
        self.driver.prepare_for_spawn(self.instance)
        self.assertEqual(['update_node'], self.writes())
        # The instance is on record before this service may die.
        self.assertIn('refresh', self.host.calls)
        # A failed build is cleaned up after its node is free.
        self.driver.unplug_vifs(self.instance, [{'id': 'port'}])
        self.assertEqual([(FREE, NO_INSTANCE), (FREE, None)], self.guard.asked)
        self.host.calls.clear()
        self.adapter.reset_mock()
        self.refuse()
        with self.assertRaisesRegex(
            exception.ComputeResourcesUnavailable, 'of host2'
        ):
            self.driver.prepare_for_spawn(self.instance)
        self.assertEqual([], self.writes())
        self.assertNotIn('refresh', self.host.calls)
        # Cleaning up must not hide that.
        self.node.provision_state = 'active'
        self.driver.failed_spawn_cleanup(self.instance)
        self.assertEqual([], self.writes())

    def test_each_power_operation_asks_first(self) -> None:
        for name, words in (
            ('reboot', ('context', self.instance, None, 'HARD')),
            ('power_off', (self.instance,)),
            ('power_on', ('context', self.instance, None)),
        ):
            self.guard.refusal = None
            getattr(self.driver, name)(*words)
            self.assertEqual([(FREE, 'i')], self.guard.asked)
            self.assertEqual(['set_node_power_state'], self.writes())
            self.refuse()
            self.adapter.reset_mock()
            with self.assertRaisesRegex(operations.REFUSALS[name], 'of host2'):
                getattr(self.driver, name)(*words)
            self.assertEqual([], self.writes())
            self.guard.asked.clear()

    def test_deletion_after_nova_has_forgotten_the_node(self) -> None:
        node = mock.Mock(id=FREE, instance_id='i', provision_state='available')
        self.adapter.nodes.side_effect = lambda **_: iter([node])
        self.adapter.get_node.return_value = node
        self.adapter.volume_targets.return_value = []
        instance = mock.Mock(uuid='i', node=None)
        instance.obj_clone.return_value = clone = mock.Mock(uuid='i')
        self.driver.destroy(None, instance, [])
        self.assertEqual((None, FREE), (instance.node, clone.node))
        for call in self.adapter.volume_targets.call_args_list:
            self.assertEqual(FREE, call.kwargs['node'])
        self.assertTrue(self.adapter.volume_targets.called)

    def test_deletion_with_nothing_on_ironic_needs_no_right(self) -> None:
        self.refuse()
        self.adapter.nodes.side_effect = lambda **query: iter([])
        self.driver.destroy('context', self.instance, None)
        self.assertEqual([], self.guard.asked)

    def test_refused_operations_ask_ironic_for_nothing(self) -> None:
        self.refuse()
        one, port = self.instance, {'id': 'port'}
        self.patch(self.driver, 'get_instance_driver_metadata')
        self.patch(patcher, 'create')
        for name, words, error in (
            # One that is soft does not turn hard.
            ('power_off', (one, 10), 'InstancePowerOffFailure'),
            (
                'rescue',
                ('c', one, None, None, 'password', None, None),
                'InstanceRescueFailure',
            ),
            ('unrescue', ('c', one), 'InstanceUnRescueFailure'),
            ('trigger_crash_dump', (one,), 'NovaException'),
            (
                'attach_interface',
                ('c', one, None, port),
                'VirtualInterfacePlugException',
            ),
            (
                'detach_interface',
                ('c', one, port),
                'VirtualInterfaceUnplugException',
            ),
        ):
            with self.subTest(name):
                with self.assertRaises(getattr(exception, error)):
                    getattr(self.driver, name)(*words)
                self.assertEqual([], self.writes())
        keywords = (
            *('image_meta', 'injected_files', 'admin_password'),
            *('allocations', 'bdms', 'detach_block_devices'),
            'attach_block_devices',
        )
        with self.assertRaises(exception.InstanceDeployFailure):
            self.driver.rebuild(
                context='c', instance=one, **dict.fromkeys(keywords)
            )
        self.node.provision_state = 'active'
        with self.assertRaises(exception.InstancePowerOffFailure):
            self.driver.destroy('c', one, None)
        self.assertEqual([], self.writes())
        for request in ('inject_nmi_to_node', 'detach_vif_from_node'):
            getattr(self.adapter, request).assert_not_called()


class VendorDriver(ironic_driver.IronicDriver):
    """A driver of a vendor, which changes some of Nova's methods."""

    prepared_for = None

    def init_host(self, host):
        super().init_host(host)
        self.prepared_for = host

    def reboot(self, context, instance, *args, accessor_info=None, **kwargs):
        self.rebooted = accessor_info
        super().reboot(context, instance, *args, **kwargs)

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename, allocations)
        provider_tree.update_traits(nodename, ['CUSTOM_VENDOR'])

    def _refresh_cache(self):
        raise AssertionError('the nodes come from the records')


class VendorOwnershipDriver(driver_module.OwnershipMixin, VendorDriver):
    """The two together, in two lines."""


class TestVendorActions(ActionsTest):
    """The driver of a vendor is guarded in the same way."""

    def load(self) -> VendorOwnershipDriver:
        return VendorOwnershipDriver(manager.ComputeVirtAPI(self.compute))

    def test_method_of_the_vendor_runs_under_the_guard(self) -> None:
        self.assertEqual('host1', self.driver.prepared_for)
        self.assertEqual({FREE, OTHER}, {*self.driver.get_available_nodes()})
        reboot = functools.partial(
            self.driver.reboot, 'context', self.instance, None, 'HARD'
        )
        reboot(accessor_info='x')
        self.assertEqual('x', self.driver.rebooted)
        self.assertEqual([(FREE, 'i')], self.guard.asked)
        tree = provider_tree.ProviderTree()
        tree.new_root(FREE, FREE)
        self.driver.update_provider_tree(tree, FREE)
        self.assertEqual({'CUSTOM_VENDOR'}, tree.data(FREE).traits)
        self.refuse()
        self.driver.rebooted = None
        with self.assertRaises(exception.InstanceRebootFailure):
            reboot()
        self.assertEqual(['set_node_power_state'], self.writes())


class LoadTest(unittest.TestCase):
    def test_nova_finds_the_driver_by_its_name(self) -> None:
        launcher.add_driver()
        with mock.patch.object(
            driver_module.OwnershipDriver, '__init__', return_value=None
        ):
            found = virt_driver.load_compute_driver(
                None, 'ironic_ownership.OwnershipDriver'
            )
        self.assertIsInstance(found, driver_module.OwnershipDriver)
        self.assertTrue(found.rebalances_nodes)
