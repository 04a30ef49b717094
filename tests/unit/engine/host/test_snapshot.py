from __future__ import annotations

import dataclasses
import unittest.mock

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Change, Claim, Delete, Release
from ironic_ownership.engine.host import snapshot
from ironic_ownership.engine.host.fleet_reader import FleetReader
from tests.unit.engine import service, world

SHARD_A, SHARD_B = (world.runs(shard_key=shard) for shard in 'ab')
SCOPE = model.Scope(shard='a')

uuid = world.uuid


class TestSnapshot(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(
            world.node(1, shard='a'),
            world.node(2, shard='b'),
            world.node(3, shard='a'),
        )
        self.hosts = [
            self.start('host1', SHARD_A),
            self.start('host2', SHARD_B),
        ]
        for host in self.hosts:
            host.refresh()

    def take(self, backend=None) -> snapshot.Snapshot:
        ports = self.hosts[0].context.ports
        if backend is not None:
            ports = dataclasses.replace(ports, backend=backend)
        reader = FleetReader(self.ironic, 'host1')
        cache = snapshot.RecordCache(self.records, 'host1')
        return snapshot.take(SCOPE, ports, reader, cache)

    def test_it_holds_the_scope_and_what_is_on_record_of_it(self) -> None:
        seen = self.take()
        self.assertEqual({world.uuid(1), world.uuid(3)}, set(seen.nodes))
        self.assertEqual({world.uuid(1), world.uuid(3)}, set(seen.records))
        self.assertEqual({'host1', 'host2'}, set(seen.services))
        self.assertEqual({'host1', 'host2'}, seen.view.hosts)

    def test_own_record_whose_node_went_elsewhere_is_in_it(self) -> None:
        self.ironic.put(world.node(1, shard='b'))
        self.assertIn(world.uuid(1), self.take().records)

    def test_record_of_a_node_that_just_came_into_scope_is_in_it(self) -> None:
        self.ironic.put(world.node(2, shard='a'))
        self.assertEqual('host2', self.take().records[world.uuid(2)].host)
        with unittest.mock.patch.object(snapshot, 'LOOKED_UP_BY_UUID', 0):
            seen = self.take()
        self.assertEqual('host2', seen.records[world.uuid(2)].host)

    def test_it_names_what_changed_since_the_one_before(self) -> None:
        clock = self.ironic.clock = self.shared.clock
        clock.elapse(100_000)
        reader = FleetReader(self.ironic, 'host1', 10**9, clock)
        cache = snapshot.RecordCache(self.records, 'host1')
        ports, one, three = self.hosts[0].context.ports, *map(uuid, (1, 3))

        def take() -> snapshot.Snapshot:
            clock.elapse(100)
            for host in self.hosts:
                host.beat()
            return snapshot.take(SCOPE, ports, reader, cache)

        self.assertIsNone(take().changed)
        self.assertEqual(set(), take().changed)
        self.ironic.put(world.node(1, shard='a', name='other'))
        self.assertEqual({one}, take().changed)
        self.write(Release(three))
        self.assertEqual({three}, take().changed)
        # All records are read again: one is gone, and one has an owner.
        cache.clear()
        self.write(Delete(one))
        self.write(Claim(world.node(3, shard='a'), reasons.Reason.EXCLUSIVE))
        self.assertEqual({one, three}, take().changed)
        seen = take()
        self.assertEqual(set(), seen.changed)
        self.assertEqual({uuid(9)}, seen.including([world.node(9)]).changed)
        # One becomes its own after the records were read: it is left out.
        cache.clear()
        in_reach = self.records.in_reach

        def reserved_after(*requested):  # type: ignore[no-untyped-def]
            found = [*in_reach(*requested)]
            claim = world.node(1, shard='a', name='other', instance_uuid='i')
            self.write(Claim(claim, reasons.Reason.RESERVED))
            return found

        with unittest.mock.patch.object(
            self.records, 'in_reach', reserved_after
        ):
            seen = take()
        self.assertEqual(({one}, {three}), (seen.changed, {*seen.nodes}))
        seen = take()
        self.assertEqual(({one}, {one, three}), (seen.changed, {*seen.nodes}))

    def write(self, change: Change) -> None:
        (row, _) = self.records.services()
        self.records.apply('host1', row.epoch, [change])

    def test_many_unknown_nodes_bring_no_records_of_others(self) -> None:
        self.ironic.put(world.node(4, shard='b'), world.node(9, shard='a'))
        self.hosts[1].refresh()
        with unittest.mock.patch.object(snapshot, 'LOOKED_UP_BY_UUID', 0):
            self.assertEqual(
                {world.uuid(1), world.uuid(3)}, set(self.take().records)
            )

    def test_reads_are_in_the_safe_order(self) -> None:
        read: list[str] = []

        def noted(target, name):
            method = getattr(target, name)

            def call(*args):
                read.append(name)
                return method(*args)

            patch = unittest.mock.patch.object(target, name, call)
            patch.start()
            self.addCleanup(patch.stop)

        noted(self.records, 'services')
        noted(self.records, 'in_reach')
        noted(self.ironic, 'scan')
        noted(self.hosts[0].backend, 'view')
        self.take()
        self.assertEqual(['services', 'in_reach', 'scan', 'view'], read)

    def test_service_that_left_for_a_while_during_the_scan_is_away(
        self,
    ) -> None:
        scan, epoch = self.ironic.scan, self.hosts[1].fence.epoch()

        def meanwhile(scope):
            self.hosts[1].member.leave(60.0)
            return scan(scope)

        with unittest.mock.patch.object(self.ironic, 'scan', meanwhile):
            seen = self.take()
        self.assertNotIn('host2', seen.view.hosts)
        self.assertTrue(seen.services['host2'].away)
        # A claim must be refused if it registers again.
        self.assertEqual(epoch, seen.services['host2'].epoch)
        self.assertFalse(seen.services['host1'].away)

    def test_view_has_one_member_for_each_host(self) -> None:
        standby = service.Service('host1', SHARD_B, self.shared)
        standby.beat()
        seen = self.take()
        self.assertEqual(
            ['host1', 'host2'], [m.host for m in seen.view.members]
        )
        self.assertEqual(SHARD_A, seen.view.get('host1').settings)

    def test_no_part_of_it_may_fail(self) -> None:
        self.shared.store.available = False
        self.assertRaises(exceptions.BackendUnavailableError, self.take)
        self.shared.store.available = True
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        self.assertRaises(exceptions.IronicUnavailableError, self.take)
