from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import records
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine.deletion import missing_nodes
from tests.unit.engine import service, world

SHARD_A = world.runs(shard_key='a', reservation=None)


class UnownedCase(service.ServiceCase):
    def put(self, *numbers: int, shard: str | None = None) -> None:
        self.ironic.put(*(world.node(n, shard=shard) for n in numbers))

    def gone(self, *numbers: int) -> None:
        for number in numbers:
            del self.ironic.nodes[world.uuid(number)]
        self.host.refresh()

    def claim(self, host: str, *nodes: int) -> int:
        """Register another service, which claims nodes."""
        epoch = self.records.register(host, SHARD_A)
        changes = [
            records.Claim(world.node(n, shard='a'), records.Release('').reason)
            for n in nodes
        ]
        self.assertEqual((), self.records.apply(host, epoch, changes).refused)
        return epoch


class TestReleasedOnARing(UnownedCase):
    """Node 1 belongs to host2, which never gets the time to claim it."""

    def test_one_of_the_services_deletes_the_record(self) -> None:
        self.put(*range(1, 8))
        self.host = self.start('host1', world.RING)
        self.host.refresh()
        other = self.start('host2', world.RING)
        self.host.refresh()
        self.assertIsNone(self.owners()[1])
        self.gone(1)
        other.refresh()
        self.assertNotIn(1, self.owners())
        for host in (self.host, other):
            self.assertEqual(0, host.refresh().refused)
            self.assertNotIn('kept', host.conditions.standing)


class TestUnowned(UnownedCase):
    """Under reservation, all free nodes are unowned."""

    def setUp(self) -> None:
        super().setUp()
        numbers = range(1, 11)
        self.put(*numbers, shard='a')
        self.host = self.start('host1', SHARD_A)
        # As reservations that ended leave them.
        epoch = self.claim('host9', *numbers)
        releases = [records.Release(world.uuid(n)) for n in numbers]
        self.records.apply('host9', epoch, releases)
        self.host.refresh()
        self.ironic.calls.clear()

    def looked_up(self) -> list[str]:
        return [uuid for method, uuid in self.ironic.calls if method == 'get']

    def test_record_is_deleted_under_the_services_name(self) -> None:
        self.gone(1)
        self.assertNotIn(1, self.owners())
        events = self.records.events(EventFilter(node_uuid=world.uuid(1)))
        self.assertEqual(
            [
                ('node_forgotten', 'host1', None),
                ('owner_changed', None, 'host1'),
            ],
            [(e.kind, e.from_host, e.to_host) for e in events[:2]],
        )

    def test_node_that_left_the_scope_is_looked_up_once(self) -> None:
        self.put(1, shard='b')
        for _ in range(3):
            self.host.refresh()
        self.assertIn(1, self.owners())
        self.assertEqual([world.uuid(1)], self.looked_up())

    def test_credential_that_sees_less_than_there_is_deletes_nothing(
        self,
    ) -> None:
        self.ironic.shard_counts = lambda: {'a': 10, None: 0}
        self.gone(1)
        self.assertIsNone(self.owners()[1])
        self.assertIn('kept', self.host.conditions.standing)

    def test_mass_loss_deletes_nothing_and_stops_nothing(self) -> None:
        self.put(20, 21, shard='a')
        self.gone(*range(1, 9))
        self.assertEqual({*range(1, 11)}, self.owners().keys())
        self.assertIn(
            '8 of 10 unowned', self.host.conditions.standing['unowned loss']
        )
        self.put(*range(1, 9), shard='a')
        self.host.refresh()
        self.assertNotIn('unowned loss', self.host.conditions.standing)

    def test_nodes_that_left_the_scope_are_no_loss_while_not_all_were_asked(
        self,
    ) -> None:
        self.put(*range(1, 9), shard='b')
        with mock.patch.object(missing_nodes, 'LOOKUPS_A_ROUND', 3):
            for _ in range(3):
                self.host.refresh()
                self.assertNotIn('unowned loss', self.host.conditions.standing)
        self.assertEqual({*range(1, 11)}, self.owners().keys())

    def test_another_process_that_was_first_is_no_problem(self) -> None:
        self.meanwhile(self.ironic, 'get', lambda: self.claim('host9', 1))
        self.gone(1)
        self.assertEqual('host9', self.owners()[1])
        self.assertEqual({}, self.host.conditions.standing)

    def test_disabled_service_deletes_none(self) -> None:
        self.records.set_service('host1', actor='t', disabled=True)
        self.gone(1)
        self.assertIn(1, self.owners())

    def test_each_record_is_left_to_one_of_the_peers(self) -> None:
        other = self.start('host2', SHARD_A)
        self.gone(1, 2, 3)
        self.assertEqual(10, len(self.owners()))  # all are left to host2
        other.refresh()
        # Once when it is missing, and once by the gate.
        self.assertEqual(2 * 3, len(self.looked_up()))
        self.assertEqual(7, len(self.owners()))


class TestOwnerWithoutARow(UnownedCase):
    """As an older backup of one table, or manual changes, leave them."""

    def setUp(self) -> None:
        super().setUp()
        self.put(1, 2)
        gone = self.start('host9')
        gone.refresh()
        gone.backend.leave()
        self.operator("DELETE FROM services WHERE host = 'host9'")
        self.host = self.start('host1')
        self.host.refresh()

    def test_record_of_a_missing_node_is_deleted(self) -> None:
        self.gone(1)
        self.assertEqual({2: 'host9'}, self.owners())

    def test_owner_that_registers_meanwhile_keeps_its_records(self) -> None:
        self.meanwhile(
            self.ironic,
            'get',
            lambda: self.records.register('host9', world.ALL),
        )
        self.gone(1)
        self.assertEqual({1: 'host9', 2: 'host9'}, self.owners())
