from __future__ import annotations

import unittest.mock

from ironic_ownership.contracts import exceptions, records
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.engine.deletion import missing_nodes
from tests.contract.suites.placement import FakePlacement
from tests.unit.engine import service, world

DOWN = exceptions.IronicUnavailableError('Ironic is down')
SHARD_A = world.runs(shard_key='a', reservation=None)


class UnownedCase(service.ServiceCase):
    def put(self, *numbers: int, shard: str | None = None) -> None:
        self.ironic.put(*(world.node(n, shard=shard) for n in numbers))

    def take(self, *numbers: int) -> None:
        for number in numbers:
            del self.ironic.nodes[world.uuid(number)]

    def kinds(self, number: int) -> list[tuple[str, str | None, str | None]]:
        events = self.records.events(EventFilter(node_uuid=world.uuid(number)))
        return [(e.kind, e.from_host, e.to_host) for e in reversed(events)]


class TestReleasedOnARing(UnownedCase):
    """Node 1 belongs to host2, which never gets the time to claim it."""

    def setUp(self) -> None:
        super().setUp()
        self.put(*range(1, 8))
        self.host1 = self.start('host1', world.RING)
        self.host1.refresh()
        self.host2 = self.start('host2', world.RING)
        self.host1.refresh()
        self.assertIsNone(self.owners()[1])
        self.take(1)

    def test_one_of_the_services_deletes_the_record(self) -> None:
        for host in (self.host1, self.host2):
            host.refresh()
        self.assertNotIn(1, self.owners())
        kind, last, _ = self.kinds(1)[-1]
        self.assertEqual('node_forgotten', kind)
        self.assertIn(last, ('host1', 'host2'))
        for host in (self.host1, self.host2):
            self.assertEqual(0, host.refresh().refused)
            self.assertNotIn('kept', host.conditions.standing)


class TestUnowned(UnownedCase):
    """Under reservation, all free nodes are unowned."""

    def setUp(self) -> None:
        super().setUp()
        self.put(*range(1, 11), shard='a')
        self.host = self.start('host1', SHARD_A)
        self.release_records(*range(1, 11))
        self.host.refresh()

    def release_records(self, *numbers: int, host: str = 'host9') -> None:
        """Leave unowned records, as reservations that ended do."""
        epoch = self.records.register(host, SHARD_A)
        nodes = [self.ironic.nodes[world.uuid(n)] for n in numbers]
        reason = records.Release('').reason
        for changes in (
            [records.Claim(node, reason) for node in nodes],
            [records.Release(node.uuid) for node in nodes],
        ):
            self.assertEqual(
                (), self.records.apply(host, epoch, changes).refused
            )

    def gone(self, *numbers: int) -> None:
        self.take(*numbers)
        self.host.refresh()

    def test_record_is_deleted_under_the_services_name(self) -> None:
        self.gone(1)
        self.assertNotIn(1, self.owners())
        self.assertEqual(
            [
                ('owner_changed', None, 'host1'),
                ('node_forgotten', 'host1', None),
            ],
            self.kinds(1)[-2:],
        )

    def test_node_that_left_the_scope_is_looked_up_once(self) -> None:
        self.put(1, shard='b')
        self.ironic.calls.clear()
        for _ in range(3):
            self.host.refresh()
        self.assertIn(1, self.owners())
        asked = [uuid for method, uuid in self.ironic.calls if method == 'get']
        self.assertEqual([world.uuid(1)], asked)

    def test_error_of_ironic_deletes_nothing(self) -> None:
        self.ironic.failures = {'get': DOWN}
        self.take(1)
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.host.refresh()
        self.assertIn(1, self.owners())
        self.ironic.failures = {}
        self.host.refresh()
        self.assertNotIn(1, self.owners())

    def test_credential_that_sees_less_than_there_is_deletes_nothing(
        self,
    ) -> None:
        self.ironic.shard_counts = lambda: {'a': 10, None: 0}
        self.gone(1)
        self.assertIsNone(self.owners()[1])
        self.assertIn('kept', self.host.conditions.standing)

    def test_mass_loss_deletes_nothing_and_stops_nothing(self) -> None:
        self.put(20, shard='a')
        self.ironic.put(world.node(21, shard='a'))
        self.take(*range(1, 9))
        self.host.refresh()
        for number in range(1, 9):
            self.assertIn(number, self.owners())
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
        with unittest.mock.patch.object(missing_nodes, 'LOOKUPS_A_ROUND', 3):
            for _ in range(3):
                self.host.refresh()
                self.assertNotIn('unowned loss', self.host.conditions.standing)
        for number in range(1, 9):
            self.assertIn(number, self.owners())

    def test_another_process_that_was_first_is_no_problem(self) -> None:
        self.take(1)
        get = self.ironic.get

        def while_another_claims(uuid: str):
            self.ironic.get = get
            self.records.apply(
                'host9',
                self.records.register('host9', SHARD_A),
                [records.Claim(world.node(1), records.Release('').reason)],
            )
            return get(uuid)

        self.ironic.get = while_another_claims
        self.host.refresh()
        self.assertEqual('host9', self.owners()[1])
        self.assertEqual({}, self.host.conditions.standing)

    def test_claim_at_the_last_moment_keeps_the_provider(self) -> None:
        placement = FakePlacement([world.uuid(1)])
        other = self.start('host2', SHARD_A, placement=placement)
        self.records.set_service('host1', actor='t', disabled=True)
        self.take(1)
        consumers = placement.consumers

        def claimed_meanwhile(uuid: str):
            found = consumers(uuid)
            get = self.ironic.get

            def then_claimed(uuid: str):
                node = get(uuid)
                self.records.apply(
                    'host9',
                    self.records.register('host9', SHARD_A),
                    [records.Claim(world.node(1), records.Release('').reason)],
                )
                return node

            self.ironic.get = then_claimed
            return found

        placement.consumers = claimed_meanwhile
        with unittest.mock.patch.object(
            placement, 'delete_provider'
        ) as deleted:
            other.refresh()
        deleted.assert_not_called()
        self.assertEqual('host9', self.owners()[1])

    def test_disabled_service_deletes_none(self) -> None:
        self.records.set_service('host1', actor='t', disabled=True)
        self.gone(1)
        self.assertIn(1, self.owners())

    def test_each_record_is_left_to_one_of_the_peers(self) -> None:
        other = self.start('host2', SHARD_A)
        self.ironic.calls.clear()
        self.take(1, 2, 3)
        for host in (self.host, other):
            host.refresh()
        asked = [uuid for method, uuid in self.ironic.calls if method == 'get']
        # Once when it is missing, and once by the gate.
        self.assertEqual(2 * 3, len(asked))
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
        self.assertEqual({1: 'host9', 2: 'host9'}, self.owners())
        self.take(1)
        self.host.refresh()
        self.assertEqual({2: 'host9'}, self.owners())

    def test_owner_that_registers_meanwhile_keeps_its_records(self) -> None:
        self.take(1)
        get = self.ironic.get

        def while_it_registers(uuid: str):
            self.records.register('host9', world.ALL)
            return get(uuid)

        self.ironic.get = while_it_registers
        self.host.refresh()
        self.assertEqual({1: 'host9', 2: 'host9'}, self.owners())
