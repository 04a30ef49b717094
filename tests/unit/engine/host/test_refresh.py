from __future__ import annotations

import contextlib
import dataclasses
from unittest import mock

from ironic_ownership.contracts import exceptions
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
        self.ironic.put(*map(world.node, range(1, 6)))
        self.host = self.start('host1')

    def test_change_of_owner_is_one_line_and_nothing_changes_again(
        self,
    ) -> None:
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
            before = self.state()
            report = self.host.refresh()
        self.assertEqual(
            [
                f'node {world.uuid(n)}: owner none -> host1, reason exclusive'
                for n in range(1, 6)
            ],
            [record.getMessage() for record in logs.records],
        )
        self.assertEqual((5, 0), (report.owned, report.applied))
        self.assertEqual(before, self.state())

    def test_view_is_stored_when_it_changes(self) -> None:
        report = self.records.report
        with mock.patch.object(self.records, 'report', wraps=report) as stored:
            for number in (1, 2):
                self.host.refresh()
                self.host.refresh()
                self.assertEqual(number, stored.call_count)
                rows = self.records.services()
                view = self.host.backend.view().serving(rows)
                self.assertEqual(view.checksum, rows[0].view_checksum)
                self.start('host2')

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

    def code(self) -> str | None:
        (refresh,) = self.host.conditions.of_loops([Loop.REFRESH])
        return refresh.code

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
        before, lost = self.owners(), dict(self.ironic.nodes)
        self.take(*range(1, 9))
        self.ironic.put(
            world.node(20, shard='a'),
            world.node(9, shard='a', instance_uuid='i9'),
        )
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.assertTrue(self.host.refresh().mass_loss)
        self.assertEqual({**before, 20: 'host1'}, self.owners())
        self.assertEqual('i9', self.instances()[9])
        # Again when the number of own nodes changes, not in each refresh.
        warnings = [record.getMessage() for record in logs.records]
        self.assertEqual(2, len(warnings), warnings)
        self.assertIn('of 10 own nodes', warnings[0])
        self.assertIn('of 11 own nodes', warnings[1])
        self.assertIn('no record is deleted', warnings[1])
        self.assertEqual('mass_loss', self.code())
        self.ironic.put(*lost.values())
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertIn('mass loss is over', ''.join(logs.output))
        self.assertIsNone(self.code())

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
        self.assertIsNone(self.code())

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
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            for _ in range(3):
                self.host.refresh()
        warnings = [r for r in logs.records if r.levelname == 'WARNING']
        self.assertEqual(1, len(warnings))
        self.assertIn('out of scope', warnings[0].getMessage())
        self.ironic.put(world.node(1, shard='a', instance_uuid='i'))
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.host.refresh()
        self.assertIn('no more nodes owned here', ''.join(logs.output))

    def test_credential_that_sees_less_than_there_is_deletes_nothing(
        self,
    ) -> None:
        self.take(1)
        self.ironic.shard_counts = lambda: {'a': 10, 'b': 1}
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.host.refresh()
        self.assertIn(1, self.owners())
        self.assertIn('sees_all_nodes', logs.output[0])

    def test_unknown_number_of_nodes_deletes_nothing(self) -> None:
        self.take(1)
        self.ironic.failures = {'shard_counts': DOWN}
        self.host.refresh()
        self.assertIn(1, self.owners())

    def test_no_scan_is_without_the_shard(self) -> None:
        """Law 4: with a shard key set, also when a node is missing."""
        self.take(1)
        self.ironic.put(world.node(2, shard='b'))
        self.host.refresh()
        scans = [scope for name, scope in self.ironic.calls if name == 'scan']
        self.assertEqual({'a'}, {scope.shard for scope in scans})


class TestFence(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 6)))
        self.host = self.start('host1')

    def refuse(self) -> None:
        self.assertRaises(exceptions.FencedError, self.host.refresh)

    def test_fenced_service_sends_no_request_and_changes_nothing(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN)
        self.refuse()
        self.assertEqual([], self.ironic.calls)
        self.assertEqual({}, self.owners())

    def test_right_that_ends_after_or_in_a_transaction_changes_no_more(
        self,
    ) -> None:
        """It is checked before every one, and before its commit."""
        for before, owned in ((0, 2), (service.TTL, 0)):
            with self.subTest(before=before):
                self.setUp()
                apply = self.records.apply

                def slowly(*args, apply=apply, before=before, **options):
                    self.shared.clock.elapse(before)
                    outcome = apply(*args, **options)
                    self.shared.clock.elapse(service.TTL)
                    return outcome

                self.records.apply = slowly
                with mock.patch.object(reconciler, 'BATCH', 2):
                    self.refuse()
                self.assertEqual(owned, len(self.owners()))


class TestSharing(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 8)))
        self.host1 = self.start('host1', world.RING)
        self.host1.refresh()
        self.assertEqual({'host1'}, set(self.owners().values()))

    def test_owner_that_came_back_meanwhile_keeps_its_nodes(self) -> None:
        self.shared.clock.elapse(service.TTL)
        host2 = self.start('host2', world.RING)
        self.settle(host2)
        self.meanwhile(
            self.ironic,
            'scan',
            lambda: self.records.register(
                'host1', world.RING, incarnation='again'
            ),
        )
        report = host2.refresh()
        self.assertEqual((0, 7), (report.applied, report.refused))
        self.assertEqual({'host1'}, set(self.owners().values()))

    def test_ring_of_several_is_logged_once_as_deprecated(self) -> None:
        host2 = self.start('host2', world.RING)
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                host2.refresh()
        (line,) = [t for t in logs.output if 'deprecated' in t]
        self.assertIn('shard_key', line)

    def test_withheld_nodes_are_warned_of_once_and_when_it_is_over(
        self,
    ) -> None:
        self.shared.clock.elapse(service.TTL)
        other = self.start('host9', world.ALL)
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                other.refresh()
        (line,) = logs.output
        self.assertIn('7 nodes', line)
        self.assertIn('--to host9', line)
        self.operator("UPDATE compute_nodes SET host = 'host9'")
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            other.refresh()
        self.assertIn('no more nodes withheld by host1', logs.output[0])


class TestManyNodesLeaveTheScope(service.ServiceCase):
    """More than one round looks up, and more than a mass loss."""

    def regroup(self, group: str) -> None:
        for number in range(3 * missing_nodes.LOOKUPS_A_ROUND):
            self.ironic.put(world.node(number, conductor_group=group))

    def test_they_are_released_and_interrupted_rounds_made_up_for(
        self,
    ) -> None:
        settings = world.runs(conductor_group='g1', peer_list=())
        self.regroup('g1')
        self.start('host2', settings)
        host = self.start('host1', settings)
        host.refresh()
        owned = len(self.owners())
        self.assertGreater(owned, missing_nodes.LOOKUPS_A_ROUND)
        self.regroup('g2')
        down = exceptions.RecordsUnavailableError('the database is down')
        with mock.patch.object(type(self.records), 'apply', side_effect=down):
            for _ in range(3):
                with contextlib.suppress(type(down)):
                    host.refresh()
        self.assertEqual(owned, len(self.owners()))
        for _ in range(10):
            host.beat()
            if not refresh_loop.is_unfinished(host.refresh()):
                break
        else:
            self.fail('never finished')
        self.assertEqual({None}, set(self.owners().values()))
        self.assertNotIn('mass_loss', host.conditions.standing)


class TestFlappingMembers(service.ServiceCase):
    """The view of one refresh lacks a member that every poll has seen."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 9)))
        ring = world.runs(peer_list=())
        self.host, other = self.start('host1', ring), self.start('host2', ring)
        self.settle(self.host, other)

    def hide(self, host: str) -> contextlib.AbstractContextManager[object]:
        rows = self.shared.store.rows
        others = {k: v for k, v in rows.items() if k[0] != host}
        return mock.patch.object(self.shared.store, 'rows', others)

    def test_deferred_changes_are_retried_soon(self) -> None:
        for missing in ('host1', 'host2'):
            with self.hide(missing):
                report = self.host.refresh()
            self.assertEqual({}, self.owners())
            self.assertTrue(refresh_loop.is_unfinished(report), missing)
        self.assertFalse(refresh_loop.is_unfinished(self.host.refresh()))
        self.assertIn('host1', self.owners().values())

    def test_service_that_polls_miss_too_is_waited_for(self) -> None:
        with self.hide('host2'):
            self.host.member.beat()
            report = self.host.refresh()
        self.assertGreater(report.deferred, 0)
        self.assertFalse(refresh_loop.is_unfinished(report))
