"""Availability that the owner of a node writes, or keeps."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventFilter
from tests.unit.engine import service, world

KIND = 'availability_changed'
OUT = 'out_of_service'


def conductor(name: str, *drivers: str, **values) -> model.Conductor:
    return model.Conductor(name, drivers=frozenset(drivers), **values)


def free(number: int, driver: str = 'd', **values) -> model.Node:
    return world.node(
        number,
        driver=driver,
        provision_state='available',
        power_state='power off',
        **values,
    )


class TrackerCase(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(free(1), free(2), free(3, 'e'))
        self.both = conductor('c1', 'd'), conductor('c2', 'e')
        self.ironic.workers = list(self.both)
        self.host = self.start('host1')
        self.host.refresh()

    def die(self, *names: str) -> None:
        self.ironic.workers = [
            conductor(
                one.hostname,
                *one.drivers,
                conductor_group=one.conductor_group,
                alive=one.hostname not in names,
            )
            for one in self.both
        ]

    def pass_time(self, seconds: float, *hosts: service.Service) -> None:
        for _ in range(int(seconds / 5)):
            self.shared.clock.elapse(5)
            for host in hosts or (self.host,):
                host.beat()

    def codes(self) -> dict[int, str | None]:
        return {
            int(record.uuid[-4:]): record.unavailable
            for record in self.records.compute_nodes()
        }

    def received(self, number: int) -> list[str | None]:
        events = self.records.events(EventFilter(node_uuid=world.uuid(number)))
        return [e.reason for e in events if e.kind == KIND][::-1]


class TestTracker(TrackerCase):
    def test_claimed_nodes_are_evaluated_immediately(self) -> None:
        self.ironic.put(
            free(4, maintenance=True), free(5, 'no conductor has it')
        )
        self.host.refresh()
        self.assertEqual(
            {1: None, 2: None, 3: None, 4: 'maintenance', 5: OUT}, self.codes()
        )

    def test_nodes_of_the_last_conductor_that_dies_go_immediately(
        self,
    ) -> None:
        self.die('c2')
        report = self.host.refresh()
        self.assertEqual(1, report.applied)
        self.assertEqual({1: None, 2: None, 3: OUT}, self.codes())
        (received,) = self.received(3)
        self.assertIn('available -> out_of_service', received)
        self.assertIn("'e'", received)
        self.assertIn('c2', received)

    def test_node_comes_back_by_itself_after_the_delay(self) -> None:
        self.die('c2')
        self.host.refresh()
        self.die()
        self.host.refresh()
        self.assertEqual(OUT, self.codes()[3])
        self.pass_time(60)
        self.host.refresh()
        self.assertIsNone(self.codes()[3])
        self.assertEqual(2, len(self.received(3)))

    def test_driver_that_flaps_leaves_one_event(self) -> None:
        for dead in (('c2',), (), ('c2',), (), ('c2',)):
            self.die(*dead)
            self.host.refresh()
            self.pass_time(40)
        self.assertEqual(1, len(self.received(3)))

    def test_without_a_live_conductor_all_nodes_go_out(self) -> None:
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for names in (('c1', 'c2'), ('c1', 'c2')):
                self.die(*names)
                self.host.refresh()
        self.assertEqual({1: OUT, 2: OUT, 3: OUT}, self.codes())
        (line,) = [r.getMessage() for r in logs.records]
        self.assertIn('all nodes go out of service', line)
        self.die()
        self.host.refresh()
        self.pass_time(60)
        self.host.refresh()
        self.assertEqual({1: None, 2: None, 3: None}, self.codes())

    def test_ignored_outage_of_all_conductors_rewrites_nothing(self) -> None:
        self.ironic.outage_counts = False
        self.die('c2')
        self.host.refresh()
        before = self.state()
        self.die('c1', 'c2')
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(3):
                self.assertEqual(0, self.host.refresh().applied)
        self.assertEqual(before, self.state())
        (line,) = [r.getMessage() for r in logs.records]
        self.assertIn('none of the conductors', line)
        self.ironic.workers = []
        self.assertEqual(0, self.host.refresh().applied)
        self.assertEqual(before, self.state())

    def test_unreadable_conductors_rewrite_nothing(self) -> None:
        self.die('c2')
        self.host.refresh()
        before = self.state()
        for error in (
            exceptions.IronicTooOldError('1.49'),
            exceptions.IronicUnavailableError('busy'),
            exceptions.IronicError('403'),
        ):
            self.ironic.failures = {'conductors': error}
            with self.assertLogs(service.LOGGER, 'WARNING') as logs:
                self.assertEqual(0, self.host.refresh().applied)
            self.assertEqual(before, self.state())
            self.assertIn(str(error), logs.records[0].getMessage())

    def test_maintenance_is_one_event_each_way(self) -> None:
        for maintenance in (True, True, False, False):
            self.ironic.put(free(1, maintenance=maintenance))
            self.host.refresh()
        self.assertEqual(
            [
                'available -> maintenance: provision state available',
                'maintenance -> available',
            ],
            self.received(1),
        )


class TestOwners(TrackerCase):
    def test_only_the_owner_writes(self) -> None:
        other = self.start('host2')
        self.settle(self.host, other)
        self.die('c2')
        report = other.refresh()
        self.assertEqual((0, 0), (report.applied, report.refused))
        self.assertNotIn(OUT, self.codes().values())
        self.host.refresh()
        self.assertEqual(OUT, self.codes()[3])

    def test_next_owner_goes_on_where_the_dead_one_stopped(self) -> None:
        database = self.shared
        host = self.start('host2', world.RING)
        peer = self.start('host3', world.RING)
        self.operator("UPDATE services SET disabled = 1 WHERE host = 'host1'")
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.settle(host, peer)
        for one in (host, peer):
            one.refresh()
        self.die('c2')
        owner = self.records.compute_nodes_by_uuid([world.uuid(3)])[0].host
        first, second = (host, peer) if owner == 'host2' else (peer, host)
        first.refresh()
        self.assertEqual(OUT, self.codes()[3])
        for _ in range(6):
            database.clock.elapse(5)
            second.beat()
        second.refresh()
        self.assertEqual(second.host, self.owners()[3])
        self.assertEqual(OUT, self.codes()[3])
        self.die()
        second.refresh()
        self.pass_time(60, second)
        second.refresh()
        self.assertIsNone(self.codes()[3])
        self.assertEqual(
            ['host2', 'host3'],
            sorted(
                {
                    event.actor
                    for event in self.records.events(
                        EventFilter(node_uuid=world.uuid(3))
                    )
                    if event.kind == KIND
                }
            ),
        )
