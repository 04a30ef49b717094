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

FREE = world.node(
    1, driver='d', provision_state='available', power_state='power off'
)
SERVED = availability.Conductors.of(
    [model.Conductor('c1', '', frozenset({'d'}))]
)
OTHERS = availability.Conductors.of(
    [
        model.Conductor('c1', '', frozenset({'e'})),
        model.Conductor('c2', 'g', frozenset({'d'})),
        model.Conductor('c3', '', frozenset({'d'}), alive=False),
    ]
)
DEAD = [model.Conductor('c1', '', frozenset({'d'}), alive=False)]
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


def codes_of(conductors: availability.Conductors | None = SERVED, **values):
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
                self.assertEqual(code, codes_of(**values))

    def test_first_reason_that_applies_counts(self) -> None:
        worst = {
            'driver': 'no conductor has it',
            'maintenance': True,
            'instance_uuid': 'i',
            'power_state': 'error',
            'provision_state': 'cleaning',
            'retired': True,
        }
        better = {
            'driver': 'd',
            'maintenance': False,
            'instance_uuid': None,
            'power_state': 'power on',
            'provision_state': 'available',
            'retired': False,
        }
        found = [codes_of(**worst)]
        for name, value in better.items():
            worst[name] = value
            found.append(codes_of(**worst))
        self.assertEqual(
            [
                *('out_of_service', 'maintenance', 'reserved'),
                *('power_error', 'cleaning', 'retired', None),
            ],
            # An instance on a node that is cleaned is not held, but there.
            ['reserved' if c == 'in_use' else c for c in found],
        )

    def test_driver_of_another_group_or_of_the_dead_is_no_service(
        self,
    ) -> None:
        found = availability.evaluate(FREE, OTHERS)
        self.assertIs(Unavailable.OUT_OF_SERVICE, found.code)
        self.assertIn("'d'", found.detail)
        self.assertIn('c3', found.detail)
        self.assertIsNone(codes_of(OTHERS, conductor_group='g'))

    def test_without_any_live_conductor_every_node_is_out(self) -> None:
        for conductors in (GONE, availability.Conductors()):
            self.assertEqual('out_of_service', codes_of(conductors))
        found = availability.evaluate(FREE, GONE)
        self.assertIn('c1', found.detail)

    def test_unknown_conductors_and_an_ignored_outage_change_nothing(
        self,
    ) -> None:
        for conductors in (None, IGNORED):
            self.assertIsNone(codes_of(conductors))
            self.assertEqual(
                'maintenance', codes_of(conductors, maintenance=True)
            )
            availability.check_in_service(FREE, conductors)

    @hypothesis.given(nodes, all_conductors)
    def test_action_is_refused_exactly_if_the_node_is_out(
        self, node, conductors
    ) -> None:
        out = availability.evaluate(node, conductors).code == 'out_of_service'
        try:
            availability.check_in_service(node, conductors)
        except exceptions.NodeOutOfServiceError:
            self.assertTrue(out)
        else:
            self.assertFalse(out)

    @hypothesis.given(nodes, all_conductors)
    def test_available_means_all_of_it(self, node, conductors) -> None:
        found = availability.evaluate(node, conductors)
        if found.code is not None:
            return
        self.assertFalse(node.maintenance or node.retired)
        self.assertIsNone(node.instance_uuid)
        self.assertEqual('power on', node.power_state)
        self.assertIn(node.provision_state, (None, 'available'))
        self.assertTrue(
            (conductors.all_gone and not conductors.outage_counts)
            or conductors.supports(node.driver, node.conductor_group)
        )

    @hypothesis.given(
        st.lists(conductors, max_size=4, unique_by=lambda c: c.hostname),
        st.randoms(),
    )
    def test_order_of_conductors_means_nothing(self, some, random) -> None:
        other = list(some)
        random.shuffle(other)
        self.assertEqual(
            availability.Conductors.of(some), availability.Conductors.of(other)
        )


class TestCheckInService(unittest.TestCase):
    def test_error_names_driver_group_and_the_conductors_needed(self) -> None:
        with self.assertRaises(exceptions.NodeOutOfServiceError) as caught:
            availability.check_in_service(FREE, OTHERS)
        error = caught.exception
        self.assertEqual('out_of_service', error.code)
        self.assertEqual(
            (FREE.uuid, 'd', '', ('c3',)),
            (error.uuid, error.driver, error.conductor_group, error.needed),
        )
        for word in (FREE.uuid, "'d'", 'default conductor group', 'c3'):
            self.assertIn(word, str(error))

    def test_without_a_dead_one_a_conductor_is_to_be_started(self) -> None:
        node = dataclasses.replace(FREE, driver='x', conductor_group='g')
        with self.assertRaisesRegex(
            exceptions.NodeOutOfServiceError,
            "Start a conductor in conductor group 'g'",
        ):
            availability.check_in_service(node, OTHERS)


class TestWatch(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.damper = availability.FlapDamper(60.0)

    def code(self, now: float, conductors, before: str | None) -> str | None:
        self.damper.observe(conductors, now)
        return self.damper.evaluate(FREE, before).code

    def test_it_goes_immediately_and_returns_after_the_delay(self) -> None:
        self.assertIsNone(self.code(0, SERVED, None))
        out = 'out_of_service'
        self.assertEqual(out, self.code(1, OTHERS, None))
        self.assertEqual(out, self.code(2, SERVED, out))
        self.assertEqual(out, self.code(61, SERVED, out))
        self.assertIsNone(self.code(62, SERVED, out))

    def test_delay_restarts_with_each_flap(self) -> None:
        out = 'out_of_service'
        for now in (0, 50, 100, 150):
            self.assertEqual(out, self.code(now, SERVED, out))
            self.assertEqual(out, self.code(now + 45, OTHERS, out))
        self.assertEqual(out, self.code(200, SERVED, out))
        self.assertIsNone(self.code(260, SERVED, out))

    def test_time_in_which_nothing_is_known_does_not_count(self) -> None:
        out = 'out_of_service'
        for blind in (None, IGNORED):
            self.assertEqual(out, self.code(0, SERVED, out))
            self.assertEqual(out, self.code(59, blind, out))
            self.assertEqual(out, self.code(61, SERVED, out))
            self.damper.observe(None, 62)

    def test_driver_is_missed_after_the_delay_of_an_outage(self) -> None:
        self.assertIsNone(self.code(0, SERVED, None))
        self.assertIsNone(self.code(10, IGNORED, None))
        self.assertIsNone(self.code(20, OTHERS, None))
        self.assertIsNone(self.code(69, OTHERS, None))
        self.assertEqual('out_of_service', self.code(70, OTHERS, None))

    def test_outage_of_all_conductors_takes_nodes_out(self) -> None:
        out = 'out_of_service'
        self.assertIsNone(self.code(0, SERVED, None))
        self.assertEqual(out, self.code(10, GONE, None))
        self.assertEqual(out, self.code(20, SERVED, out))
        self.assertIsNone(self.code(80, SERVED, out))
        # Unknown is no outage.
        self.assertIsNone(self.code(90, None, None))

    def test_node_out_of_service_before_an_outage_stays_out(self) -> None:
        out = 'out_of_service'
        self.assertEqual(out, self.code(0, OTHERS, None))
        self.assertEqual(out, self.code(10, IGNORED, out))
        self.assertEqual(out, self.code(20, OTHERS, out))
        self.assertEqual(out, self.code(80, OTHERS, out))

    def test_node_that_was_never_out_need_not_wait(self) -> None:
        self.assertIsNone(self.code(0, SERVED, None))
        self.assertIsNone(self.code(0, SERVED, 'maintenance'))

    def test_node_that_stays_out_has_a_detail(self) -> None:
        self.damper.observe(SERVED, 0)
        held = self.damper.evaluate(FREE, 'out_of_service')
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
                self.assertEqual('out_of_service', found.code)
            if ignored:
                self.assertEqual(before, found.code)
            if before == 'out_of_service' and found.code is None:
                assert served_since is not None
                self.assertGreaterEqual(now - served_since, 60)
            before = found.code


class TestSeen(unittest.TestCase):
    def test_only_the_owner_puts_it_back(self) -> None:
        held = world.record(1, 'host1', unavailable='out_of_service')
        found = availability.evaluate_for_observer(FREE, held, SERVED)
        self.assertEqual('out_of_service', found.code)
        self.assertIn('host1', found.detail)

    def test_unowned_record_keeps_no_node_out(self) -> None:
        left = world.record(1, None, unavailable='out_of_service')
        self.assertIsNone(
            availability.evaluate_for_observer(FREE, left, SERVED).code
        )

    def test_other_codes_are_those_of_now(self) -> None:
        old = world.record(1, 'host1', unavailable='maintenance')
        self.assertIsNone(
            availability.evaluate_for_observer(FREE, old, SERVED).code
        )


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
