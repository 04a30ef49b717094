from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Change, Claim, Delete
from ironic_ownership.engine.host import snapshot
from ironic_ownership.engine.host.fleet_reader import FleetReader
from tests.unit.engine import service, world

SHARD_A, SHARD_B = (world.runs(shard_key=shard) for shard in 'ab')
SCOPE = model.Scope(shard='a')


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
        self.reader = FleetReader(self.ironic, 'host1')
        self.cache = snapshot.RecordCache(self.records, 'host1')

    def take(self) -> snapshot.Snapshot:
        ports = self.hosts[0].context.ports
        return snapshot.take(SCOPE, ports, self.reader, self.cache)

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
        with mock.patch.object(snapshot, 'LOOKED_UP_BY_UUID', 0):
            seen = self.take()
        self.assertEqual('host2', seen.records[world.uuid(2)].host)

    def test_node_that_becomes_its_own_meanwhile_is_left_out_once(
        self,
    ) -> None:
        """One that was reserved after the records were read."""
        clock = self.ironic.clock = self.shared.clock
        clock.elapse(100_000)
        self.reader = FleetReader(self.ironic, 'host1', 10**9, clock)
        one, three = map(world.uuid, (1, 3))
        for changed in (None, set()):
            self.assertEqual(changed, self.take_later().changed)
        self.write(Delete(one))
        self.assertEqual({one}, self.take_later().changed)
        self.cache.clear()
        in_reach = self.records.in_reach

        def reserved_after(*requested):  # type: ignore[no-untyped-def]
            found = [*in_reach(*requested)]
            claim = world.node(1, shard='a', instance_uuid='i')
            self.write(Claim(claim, reasons.Reason.RESERVED))
            return found

        with mock.patch.object(self.records, 'in_reach', reserved_after):
            seen = self.take_later()
        self.assertEqual(({one}, {three}), (seen.changed, {*seen.nodes}))
        seen = self.take_later()
        self.assertEqual(({one}, {one, three}), (seen.changed, {*seen.nodes}))
        self.assertEqual(
            {one, world.uuid(9)}, seen.including([world.node(9)]).changed
        )

    def take_later(self) -> snapshot.Snapshot:
        self.shared.clock.elapse(100)
        for host in self.hosts:
            host.beat()
        return self.take()

    def write(self, change: Change) -> None:
        (row, _) = self.records.services()
        self.records.apply('host1', row.epoch, [change])

    def test_many_unknown_nodes_bring_no_records_of_others(self) -> None:
        self.ironic.put(world.node(4, shard='b'), world.node(9, shard='a'))
        self.hosts[1].refresh()
        with mock.patch.object(snapshot, 'LOOKED_UP_BY_UUID', 0):
            self.assertEqual(
                {world.uuid(1), world.uuid(3)}, set(self.take().records)
            )

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
