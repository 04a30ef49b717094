"""Rules of availability, and damping of flapping conductors."""

from __future__ import annotations

import dataclasses
import unittest

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.reasons import Unavailable
from ironic_ownership.engine import availability
from tests.unit.engine import service, world

OUT = 'out_of_service'
KIND = 'availability_changed'


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


FREE = free(1)
SERVED = availability.Conductors.of([conductor('c1', 'd')])
OTHERS = availability.Conductors.of(
    [
        conductor('c1', 'e'),
        conductor('c2', 'd', conductor_group='g'),
        conductor('c3', 'd', alive=False),
    ]
)
DEAD = [conductor('c1', 'd', alive=False)]
GONE = availability.Conductors.of(DEAD)
IGNORED = availability.Conductors.of(DEAD, outage_counts=False)
"""The outage of an operator who chose that it changes nothing."""

conductors = st.builds(
    model.Conductor,
    st.sampled_from(('c1', 'c2', 'c3', 'c4')),
    st.sampled_from(('', 'g')),
    st.frozensets(st.sampled_from('de')),
    st.booleans(),
)
all_conductors = st.builds(
    availability.Conductors.of,
    st.lists(conductors, max_size=4, unique_by=lambda c: c.hostname),
    outage_counts=st.booleans(),
)
nodes = st.builds(
    world.node,
    st.just(1),
    driver=st.sampled_from('de'),
    conductor_group=st.sampled_from(('', 'g')),
    maintenance=st.booleans(),
    instance_uuid=st.sampled_from((None, 'i')),
    power_state=st.sampled_from((None, 'power on', 'error')),
    retired=st.booleans(),
    provision_state=st.sampled_from(
        (None, 'available', 'active', 'cleaning', 'manageable')
    ),
)


def code_of(conductors: availability.Conductors | None = SERVED, **values):
    node = dataclasses.replace(FREE, **values)
    return availability.evaluate(node, conductors).code


class TestEvaluate(unittest.TestCase):
    def test_each_state_has_its_code(self) -> None:
        for values, code in (
            ({'maintenance': True}, 'maintenance'),
            ({'power_state': 'error'}, 'power_error'),
            ({'power_state': None}, 'power_unknown'),
            ({'retired': True}, 'retired'),
            ({'provision_state': 'cleaning'}, 'cleaning'),
            ({'provision_state': 'clean wait'}, 'cleaning'),
            ({'provision_state': 'clean failed'}, 'cleaning'),
            ({'provision_state': 'manageable'}, 'provision_state'),
            ({'provision_state': 'deleting'}, 'provision_state'),
            ({'provision_state': 'enroll'}, 'provision_state'),
            ({'instance_uuid': 'i'}, 'reserved'),
            ({'instance_uuid': 'i', 'provision_state': 'active'}, 'in_use'),
            ({'instance_uuid': 'i', 'provision_state': 'deploying'}, 'in_use'),
        ):
            with self.subTest(values):
                self.assertEqual(code, code_of(**values))

    def test_first_reason_that_applies_counts(self) -> None:
        values = {
            'driver': 'no conductor has it',
            'maintenance': True,
            'instance_uuid': 'i',
            'power_state': 'error',
            'provision_state': 'cleaning',
            'retired': True,
        }
        found = []
        for name in (*values, ''):
            found.append(code_of(**values))
            values.pop(name, None)
        codes = [OUT, 'maintenance', 'in_use', 'power_error', 'cleaning']
        self.assertEqual([*codes, 'retired', None], found)

    def test_driver_of_another_group_or_of_the_dead_is_no_service(
        self,
    ) -> None:
        found = availability.evaluate(FREE, OTHERS)
        self.assertIs(Unavailable.OUT_OF_SERVICE, found.code)
        self.assertIn("'d'", found.detail)
        self.assertIn('c3', found.detail)
        self.assertIsNone(code_of(OTHERS, conductor_group='g'))
        for none_alive in (GONE, availability.Conductors()):
            self.assertEqual(OUT, code_of(none_alive))

    def test_unknown_conductors_and_an_ignored_outage_change_nothing(
        self,
    ) -> None:
        for found in (None, IGNORED):
            self.assertIsNone(code_of(found))
            self.assertEqual('maintenance', code_of(found, maintenance=True))

    @hypothesis.given(nodes, all_conductors)
    def test_available_means_all_of_it_and_only_out_is_refused(
        self, node, conductors
    ) -> None:
        found = availability.evaluate(node, conductors)
        try:
            availability.check_in_service(node, conductors)
        except exceptions.NodeOutOfServiceError:
            self.assertEqual(OUT, found.code)
            return
        self.assertNotEqual(OUT, found.code)
        self.assertTrue(
            (conductors.all_gone and not conductors.outage_counts)
            or conductors.supports(node.driver, node.conductor_group)
        )
        if found.code is None:
            self.assertFalse(node.maintenance or node.retired)
            self.assertIsNone(node.instance_uuid)
            self.assertEqual('power on', node.power_state)
            self.assertIn(node.provision_state, (None, 'available'))

    def test_refusal_names_driver_group_and_the_conductors_needed(
        self,
    ) -> None:
        for node, needed, words in (
            (FREE, ('c3',), ("'d'", 'default conductor group', 'c3')),
            (
                free(1, 'x', conductor_group='g'),
                (),
                ("Start a conductor in conductor group 'g'",),
            ),
        ):
            with self.assertRaises(exceptions.NodeOutOfServiceError) as caught:
                availability.check_in_service(node, OTHERS)
            error = caught.exception
            self.assertEqual(OUT, error.code)
            self.assertEqual(
                (node.uuid, node.driver, node.conductor_group, needed),
                (
                    error.uuid,
                    error.driver,
                    error.conductor_group,
                    error.needed,
                ),
            )
            for word in (node.uuid, *words):
                self.assertIn(word, str(error))

    def test_only_the_owner_puts_a_node_back(self) -> None:
        for host, on_record, code in (
            ('host1', OUT, OUT),
            (None, OUT, None),
            ('host1', 'maintenance', None),
        ):
            held = world.record(1, host, unavailable=on_record)
            found = availability.evaluate_for_observer(FREE, held, SERVED)
            self.assertEqual(code, found.code)
            self.assertEqual(code == OUT, 'host1' in found.detail)


class TestDamper(unittest.TestCase):
    def test_each_history(self) -> None:
        for name, before, history in (
            (
                'it goes immediately',
                None,
                [(0, SERVED, None), (1, OTHERS, OUT)],
            ),
            (
                'it returns after the delay',
                OUT,
                [(2, SERVED, OUT), (61, SERVED, OUT), (62, SERVED, None)],
            ),
            (
                'an unknown time does not count',
                OUT,
                [(0, SERVED, OUT), (59, None, OUT), (61, SERVED, OUT)],
            ),
            (
                'unknown is no outage',
                None,
                [(0, SERVED, None), (1, None, None)],
            ),
            (
                'a driver is missed after the delay of an ignored outage',
                None,
                [(10, IGNORED, None), (69, OTHERS, None), (70, OTHERS, OUT)],
            ),
            ('an outage that counts', None, [(0, GONE, OUT)]),
        ):
            damper = availability.FlapDamper(60.0)
            code = before
            for now, found, expected in history:
                with self.subTest(name, now=now):
                    damper.observe(found, now)
                    held = damper.evaluate(FREE, code)
                    code = held.code
                    self.assertEqual(expected, code)
                    if code == OUT and found is SERVED:
                        self.assertIn('60 s', held.detail)

    @hypothesis.given(st.lists(st.tuples(all_conductors, st.integers(1, 90))))
    def test_it_is_never_back_without_support_for_the_delay(
        self, observations
    ) -> None:
        damper, now, before = availability.FlapDamper(60.0), 0.0, None
        served_since: float | None = None
        gone_at = -60.0
        for conductors, pause in observations:
            now += pause
            damper.observe(conductors, now)
            if conductors.supports('d', ''):
                served_since = now if served_since is None else served_since
            else:
                served_since = None
            ignored = conductors.all_gone and not conductors.outage_counts
            gone_at = now if ignored else gone_at
            found = damper.evaluate(FREE, before)
            if served_since is None and now - gone_at >= 60:
                self.assertEqual(OUT, found.code)
            if ignored:
                self.assertEqual(before, found.code)
            if before == OUT and found.code is None:
                assert served_since is not None
                self.assertGreaterEqual(now - served_since, 60)
            before = found.code


class TestTracker(service.ServiceCase):
    """host1 owns nodes 1 and 2 with driver d, and node 3 with driver e."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(free(1), free(2), free(3, 'e'))
        self.die()
        self.host = self.start('host1')
        self.host.refresh()

    def die(self, *names: str) -> None:
        self.ironic.workers = [
            conductor(name, driver, alive=name not in names)
            for name, driver in (('c1', 'd'), ('c2', 'e'))
        ]

    def pass_time(self, seconds: float, host: service.Service) -> None:
        for _ in range(int(seconds / 5)):
            self.shared.clock.elapse(5)
            host.beat()

    def codes(self) -> dict[int, str | None]:
        return {
            int(record.uuid[-4:]): record.unavailable
            for record in self.records.compute_nodes()
        }

    def changes(self, number: int) -> list[model.Event]:
        events = self.records.events(EventFilter(node_uuid=world.uuid(number)))
        return [event for event in events if event.kind == KIND][::-1]

    def test_nodes_of_the_last_conductor_that_dies_go_immediately(
        self,
    ) -> None:
        self.die('c2')
        report = self.host.refresh()
        self.assertEqual(1, report.applied)
        self.assertEqual({1: None, 2: None, 3: OUT}, self.codes())
        (change,) = self.changes(3)
        for word in ('available -> out_of_service', "'e'", 'c2'):
            self.assertIn(word, change.reason)

    def test_driver_that_flaps_leaves_one_event(self) -> None:
        for dead in (('c2',), (), ('c2',), (), ('c2',)):
            self.die(*dead)
            self.host.refresh()
            self.pass_time(40, self.host)
        self.assertEqual(1, len(self.changes(3)))

    def test_without_a_live_conductor_all_nodes_go_out(self) -> None:
        self.die('c1', 'c2')
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for _ in range(2):
                self.host.refresh()
        self.assertEqual({1: OUT, 2: OUT, 3: OUT}, self.codes())
        (line,) = [r.getMessage() for r in logs.records]
        self.assertIn('all nodes go out of service', line)
        self.die()
        self.host.refresh()
        self.pass_time(60, self.host)
        self.host.refresh()
        self.assertEqual({1: None, 2: None, 3: None}, self.codes())

    def test_ignored_outage_of_all_conductors_rewrites_nothing(self) -> None:
        self.ironic.outage_counts = False
        self.die('c2')
        self.host.refresh()
        before = self.state()
        self.die('c1', 'c2')
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            for workers in (self.ironic.workers, self.ironic.workers, []):
                self.ironic.workers = workers
                self.assertEqual(0, self.host.refresh().applied)
        self.assertEqual(before, self.state())
        (line,) = [r.getMessage() for r in logs.records]
        self.assertIn('none of the conductors', line)

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
            [change.reason for change in self.changes(1)],
        )

    def test_next_owner_goes_on_where_the_dead_one_stopped(self) -> None:
        hosts = {
            name: self.start(name, world.RING) for name in ('host2', 'host3')
        }
        self.operator("UPDATE services SET disabled = 1 WHERE host = 'host1'")
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.settle(*hosts.values())
        for one in hosts.values():
            one.refresh()
        self.die('c2')
        first = hosts.pop(self.owners()[3])
        (second,) = hosts.values()
        report = second.refresh()
        self.assertEqual((0, 0), (report.applied, report.refused))
        first.refresh()
        self.assertEqual(OUT, self.codes()[3])
        self.pass_time(30, second)
        second.refresh()
        self.assertEqual(second.host, self.owners()[3])
        self.assertEqual(OUT, self.codes()[3])
        self.die()
        second.refresh()
        self.pass_time(60, second)
        second.refresh()
        self.assertIsNone(self.codes()[3])
        self.assertEqual(
            [first.host, second.host],
            [change.actor for change in self.changes(3)],
        )
