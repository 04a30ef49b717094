from __future__ import annotations

import contextlib
import dataclasses
import unittest.mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import reconciler, refresh_loop
from tests.unit.engine import service, world

SHARD_A = world.runs(shard_key='a')
DOWN = exceptions.IronicUnavailableError('Ironic is down')


class TestNodes(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(number) for number in range(1, 6)))
        self.host = self.start('host1')

    def test_second_refresh_changes_nothing(self) -> None:
        self.host.refresh()
        before = self.state()
        with self.assertNoLogs(service.LOGGER, 'INFO'):
            report = self.host.refresh()
        self.assertEqual((5, 0), (report.owned, report.applied))
        self.assertEqual(before, self.state())

    def test_change_of_owner_is_one_line(self) -> None:
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertEqual(
            [
                f'node {world.uuid(n)}: owner none -> host1, reason exclusive'
                for n in range(1, 6)
            ],
            [record.getMessage() for record in logs.records],
        )

    def test_instance_that_appears_changes_and_goes_is_followed(self) -> None:
        self.host.refresh()
        for instance in ('i1', 'i2', None):
            self.ironic.put(world.node(3, instance_uuid=instance))
            self.host.refresh()
            self.assertEqual(instance, self.instances()[3])
        self.assertEqual('host1', self.owners()[3])

    def test_any_error_of_ironic_changes_nothing(self) -> None:
        self.host.refresh()
        before = self.state()
        self.ironic.put(world.node(7))
        del self.ironic.nodes[world.uuid(1)]
        for method in ('scan', 'get'):
            self.ironic.failures = {method: DOWN}
            with self.assertRaises(exceptions.IronicUnavailableError):
                self.host.refresh()
            self.assertEqual(before, self.state())


class TestMissingNodes(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 11)))
        self.ironic.put(world.node(50, shard='b'))
        self.host = self.start('host1', SHARD_A)
        self.host.refresh()

    def take(self, *numbers: int) -> None:
        for number in numbers:
            del self.ironic.nodes[world.uuid(number)]

    def test_record_of_a_node_that_is_gone_is_forgotten(self) -> None:
        self.take(1)
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertNotIn(1, self.owners())
        self.assertEqual(
            [f'node {world.uuid(1)}: owner host1 -> none, reason node_gone'],
            [record.getMessage() for record in logs.records],
        )
        event = self.records.events(EventFilter(node_uuid=world.uuid(1)))[0]
        self.assertEqual(
            ('node_forgotten', 'host1', 'node_gone'),
            (event.kind, event.from_host, event.reason),
        )

    def test_mass_loss_deletes_nothing_and_is_logged_once(self) -> None:
        """Only deletions stop: new nodes and instances are recorded."""
        before = self.owners()
        self.take(*range(1, 9))
        self.ironic.put(
            world.node(20, shard='a'),
            world.node(9, shard='a', instance_uuid='i9'),
        )
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            for _ in range(3):
                self.assertTrue(self.host.refresh().mass_loss)
        self.assertEqual({**before, 20: 'host1'}, self.owners())
        self.assertEqual('i9', self.instances()[9])
        # Again when the number of own nodes changes, not in each refresh.
        warnings = [
            record.getMessage()
            for record in logs.records
            if record.levelname == 'WARNING'
        ]
        self.assertEqual(2, len(warnings), warnings)
        self.assertIn('of 10 own nodes', warnings[0])
        self.assertIn('of 11 own nodes', warnings[1])
        self.assertIn('no record is deleted', warnings[1])
        (refresh,) = self.host.conditions.of_loops([Loop.REFRESH])
        self.assertEqual('mass_loss', refresh.code)

    def test_mass_loss_on_purpose_is_deleted_after_the_override(self) -> None:
        self.take(*range(1, 9))
        self.assertTrue(self.host.refresh().mass_loss)
        limits = dataclasses.replace(service.LIMITS, mass_loss_share=1.0)
        self.host.refresher.reconfigure(
            service.tuning_of(SHARD_A, limits=limits)
        )
        for _ in range(2):
            self.host.refresh()
        self.assertEqual({9, 10}, self.owners().keys())
        (refresh,) = self.host.conditions.of_loops([Loop.REFRESH])
        self.assertIsNone(refresh.code)

    def test_end_of_a_mass_loss_is_logged_and_work_goes_on(self) -> None:
        lost = dict(self.ironic.nodes)
        self.take(*range(1, 9))
        self.host.refresh()
        self.ironic.nodes = lost
        self.ironic.put(world.node(20, shard='a'))
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertEqual('host1', self.owners()[20])
        self.assertIn('mass loss is over', logs.output[0])

    def test_node_that_changed_shard_is_never_deleted(self) -> None:
        self.ironic.put(world.node(1, shard='b'))
        for _ in range(3):
            self.host.refresh()
            self.shared.clock.elapse(service.RECHECK)
            self.host.beat()
            self.host.beat()
        self.assertEqual('host1', self.owners()[1])

    def test_node_out_of_scope_is_warned_of_once(self) -> None:
        self.ironic.put(world.node(1, shard='b', instance_uuid='i'))
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.host.refresh()
        self.assertIn('out of scope', logs.output[0])
        with self.assertNoLogs(service.LOGGER, 'INFO'):
            for _ in range(3):
                self.host.refresh()
        self.ironic.put(world.node(1, shard='a', instance_uuid='i'))
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertIn('no more nodes owned here', ''.join(logs.output))

    def test_credential_that_sees_less_than_there_is_deletes_nothing(
        self,
    ) -> None:
        self.take(1)
        counts = {'a': 10, 'b': 1}
        self.ironic.shard_counts = lambda: counts
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.host.refresh()
        self.assertIn(1, self.owners())
        self.assertIn('sees_all_nodes', logs.output[0])

    def test_unknown_number_of_nodes_deletes_nothing(self) -> None:
        self.take(1)
        self.ironic.failures = {'shard_counts': DOWN}
        self.host.refresh()
        self.assertIn(1, self.owners())

    def test_record_with_an_instance_is_never_deleted(self) -> None:
        self.ironic.put(world.node(1, shard='a', instance_uuid='i'))
        self.host.refresh()
        self.take(1)
        for _ in range(2):
            self.host.refresh()
            self.shared.clock.elapse(service.RECHECK)
            self.host.beat()
            self.host.beat()
        self.assertEqual('i', self.instances()[1])

    def test_no_scan_is_without_the_shard(self) -> None:
        """Law 4: with a shard key set, also when a node is missing."""
        self.take(1)
        self.ironic.put(world.node(2, shard='b'))
        self.host.refresh()
        self.assertEqual(
            {'a'},
            {
                scope.shard
                for method, scope in self.ironic.calls
                if method == 'scan'
            },
        )


class TestFence(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(number) for number in range(1, 6)))
        self.host = self.start('host1')

    def test_fenced_service_sends_no_request_and_changes_nothing(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN)
        with self.assertRaises(exceptions.FencedError):
            self.host.refresh()
        self.assertEqual([], self.ironic.calls)
        self.assertEqual({}, self.owners())

    def test_right_is_checked_before_every_transaction(self) -> None:
        apply = self.records.apply

        def slowly(*args, **options):
            outcome = apply(*args, **options)
            self.shared.clock.elapse(service.TTL)
            return outcome

        with (
            unittest.mock.patch.object(reconciler, 'BATCH', 2),
            unittest.mock.patch.object(self.records, 'apply', slowly),
            self.assertRaises(exceptions.FencedError),
        ):
            self.host.refresh()
        self.assertEqual(2, len(self.owners()))

    def test_right_that_ends_while_the_database_is_busy_undoes(self) -> None:
        apply = self.records.apply

        def slowly(*args, **options):
            self.shared.clock.elapse(service.TTL)
            return apply(*args, **options)

        with (
            unittest.mock.patch.object(self.records, 'apply', slowly),
            self.assertRaises(exceptions.FencedError),
        ):
            self.host.refresh()
        self.assertEqual({}, self.owners())

    def test_forced_down_service_changes_nothing_and_logs_it_once(
        self,
    ) -> None:
        self.records.set_service('host1', actor='x', forced_down=True)
        before = self.state()
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            for _ in range(3):
                with self.assertRaises(exceptions.FencedError):
                    self.host.refresh()
                self.host.beat()
        self.assertEqual(1, len(logs.records))
        self.assertEqual(before, self.state())

    def test_service_recovers_by_itself_when_that_is_taken_back(self) -> None:
        self.host.refresh()
        owners = self.owners()
        self.records.set_service('host1', actor='x', forced_down=True)
        self.host.beat()
        self.records.set_service('host1', actor='x', forced_down=False)
        with self.assertRaises(exceptions.FencedError):
            self.host.refresh()
        self.host.beat()
        self.host.refresh()
        self.assertFalse(self.records.services()[0].fenced)
        self.ironic.put(world.node(6))
        self.host.refresh()
        self.assertEqual({**owners, 6: 'host1'}, self.owners())

    def test_deleted_service_that_still_runs_registers_again(self) -> None:
        self.records.delete_service('host1', actor='x')
        with self.assertRaises(exceptions.FencedError):
            self.host.refresh()
        self.host.beat()
        self.host.refresh()
        self.assertEqual(5, len(self.owners()))


class TestSharing(service.ServiceCase):
    """Node 1 goes to host2, node 4 to host1."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(number) for number in range(1, 8)))
        self.host1 = self.start('host1', world.RING)
        self.host1.refresh()
        self.assertEqual({'host1'}, set(self.owners().values()))

    def test_live_owner_releases_before_a_new_peer_claims(self) -> None:
        host2 = self.start('host2', world.RING)
        report = host2.refresh()
        self.assertEqual(0, report.applied)
        self.assertGreater(report.waiting, 0)
        self.host1.refresh()
        self.assertIsNone(self.owners()[1])
        host2.refresh()
        self.assertEqual('host2', self.owners()[1])
        self.assertEqual('host1', self.owners()[4])
        for host in (self.host1, host2):
            self.assertEqual(0, host.refresh().applied)

    def test_dead_owner_is_fenced_by_the_new_owner_of_its_free_nodes(
        self,
    ) -> None:
        self.ironic.put(world.node(4, instance_uuid='i'))
        self.host1.refresh()
        epoch = self.host1.fence.epoch()
        self.shared.clock.elapse(service.TTL)
        host2 = self.start('host2', world.RING)
        self.settle(host2)
        host2.refresh()
        owners = self.owners()
        self.assertEqual('host1', owners.pop(4))
        self.assertEqual({'host2'}, set(owners.values()))
        row = self.records.services()[0]
        self.assertTrue(row.fenced)
        self.assertEqual(epoch + 1, row.epoch)

    def test_owner_that_came_back_meanwhile_keeps_its_nodes(self) -> None:
        self.shared.clock.elapse(service.TTL)
        host2 = self.start('host2', world.RING)
        self.settle(host2)
        scan = self.ironic.scan

        def while_it_returns(scope: model.Scope):
            self.ironic.scan = scan
            self.records.register('host1', world.RING, incarnation='again')
            return scan(scope)

        self.ironic.scan = while_it_returns
        report = host2.refresh()
        self.assertEqual((0, 7), (report.applied, report.refused))
        self.assertEqual({'host1'}, set(self.owners().values()))

    def test_ring_of_several_is_logged_once_as_deprecated(self) -> None:
        host2 = self.start('host2', world.RING)
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                host2.refresh()
        deprecations = [t for t in logs.output if 'deprecated' in t]
        self.assertEqual(1, len(deprecations))
        self.assertIn('shard_key', deprecations[0])

    def test_withheld_nodes_are_warned_of_once_and_when_it_is_over(
        self,
    ) -> None:
        self.shared.clock.elapse(service.TTL)
        other = self.start('host9', world.ALL)
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                other.refresh()
        self.assertEqual(1, len(logs.records))
        self.assertIn('7 nodes', logs.output[0])
        self.assertIn('--to host9', logs.output[0])
        self.operator("UPDATE compute_nodes SET host = 'host9'")
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            other.refresh()
        self.assertIn('no more nodes withheld by host1', logs.output[0])


class TestManyNodesLeaveTheScope(service.ServiceCase):
    """More than one round looks up, and more than a mass loss."""

    COUNT = 3 * missing_nodes.LOOKUPS_A_ROUND

    def setUp(self) -> None:
        super().setUp()
        self.settings = world.runs(conductor_group='g1', peer_list=())
        self.regroup('g1')
        self.start('host2', self.settings)
        self.host = self.start('host1', self.settings)
        self.host.refresh()
        self.owned = len(self.owners())
        self.assertGreater(self.owned, missing_nodes.LOOKUPS_A_ROUND)

    def regroup(self, group: str) -> None:
        self.ironic.put(
            *(
                world.node(number, conductor_group=group)
                for number in range(self.COUNT)
            )
        )

    def refresh_until_finished(self) -> None:
        for _ in range(10):
            self.host.beat()
            if not refresh_loop.is_unfinished(self.host.refresh()):
                return
        self.fail('never finished')

    def test_free_ones_are_released_and_nothing_is_called_lost(self) -> None:
        self.regroup('g2')
        self.refresh_until_finished()
        self.assertEqual({None}, set(self.owners().values()))
        self.assertNotIn('mass_loss', self.host.conditions.standing)

    def test_interrupted_rounds_are_made_up_for(self) -> None:
        self.regroup('g2')
        down = exceptions.RecordsUnavailableError('the database is down')
        with unittest.mock.patch.object(
            type(self.records), 'apply', side_effect=down
        ):
            for _ in range(3):
                with contextlib.suppress(type(down)):
                    self.host.refresh()
        self.assertEqual(self.owned, len(self.owners()))
        self.refresh_until_finished()
        self.assertEqual({None}, set(self.owners().values()))


class TestFlappingMembers(service.ServiceCase):
    """The view of one refresh lacks a member that every poll has seen."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(number) for number in range(1, 9)))
        ring = world.runs(peer_list=())
        self.hosts = {n: self.start(n, ring) for n in ('host1', 'host2')}
        self.settle(*self.hosts.values())

    def hide(self, host: str) -> contextlib.AbstractContextManager[object]:
        rows = self.shared.store.rows
        others = {k: v for k, v in rows.items() if k[0] != host}
        return unittest.mock.patch.object(self.shared.store, 'rows', others)

    def test_deferred_changes_are_retried_soon(self) -> None:
        host = self.hosts['host1']
        for missing in self.hosts:
            with self.hide(missing):
                report = host.refresh()
            self.assertEqual({}, self.owners())
            self.assertTrue(refresh_loop.is_unfinished(report), missing)
        self.assertFalse(refresh_loop.is_unfinished(host.refresh()))
        self.assertIn('host1', self.owners().values())

    def test_service_that_polls_miss_too_is_waited_for(self) -> None:
        host = self.hosts['host1']
        with self.hide('host2'):
            host.member.beat()
            report = host.refresh()
        self.assertGreater(report.deferred, 0)
        self.assertFalse(refresh_loop.is_unfinished(report))
