"""Take-over of the nodes of dead services, by the last scan."""

from __future__ import annotations

import dataclasses
import unittest.mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventFilter, Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import (
    UNLIMITED,
    Budget,
    Claim,
    Update,
)
from ironic_ownership.engine.host import reconciler, refresh_loop
from ironic_ownership.engine.membership import fence
from tests.unit.engine import service, world

NODES = range(1, 21)


class TakeOverCase(service.ServiceCase):
    """host1 and host2 share nodes, and host1 dies."""

    settings = world.RING

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, NODES))
        self.dead = self.start('host1', self.settings)
        self.host = self.start('host2', self.settings)
        self.prepare()
        for one in (self.dead, self.host) * 2:
            one.beat()
            one.refresh()
        self.settle(self.dead, self.host)
        self.host.refresh()
        self.left = [n for n, o in self.owners().items() if o == 'host1']
        self.ironic.calls.clear()

    def prepare(self) -> None:
        """Prepare the service; by default it lists all nodes."""

    def die(self) -> None:
        self.settle(self.host)
        self.host.beat()
        self.shared.clock.elapse(0.1)
        self.host.beat()
        self.assertEqual({'host1'}, self.host.take_died())

    def limit_age(self, seconds: float) -> None:
        """Use scans up to this age only."""
        loop = self.host.process.refresh_loop
        loop.intervals = dataclasses.replace(
            loop.intervals, refresh=(seconds - 60) / 2
        )

    def requested(self) -> list[str]:
        return [method for method, _ in self.ironic.calls]


class TestTakeOver(TakeOverCase):
    def test_free_nodes_of_the_dead_are_claimed_without_a_scan(self) -> None:
        self.assertNotEqual([], self.left)
        self.die()
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertEqual(['instances'], self.requested())

    def test_node_that_got_an_instance_since_stays(self) -> None:
        number = self.left[0]
        self.ironic.put(world.node(number, instance_uuid='i'))
        self.die()
        self.host.takeover.take_over({'host1'})
        self.assertEqual('host1', self.owners().pop(number))
        self.assertEqual(
            len(NODES) - 1, list(self.owners().values()).count('host2')
        )

    def test_node_whose_instance_is_on_record_stays(self) -> None:
        number = self.left[0]
        self.ironic.put(world.node(number, instance_uuid='i'))
        self.dead.refresh()
        self.ironic.put(world.node(number))
        self.die()
        self.host.takeover.take_over({'host1'})
        self.assertEqual('host1', self.owners()[number])

    def test_list_that_lacks_an_instance_frees_no_node(self) -> None:
        """The dead service had not recorded what the scan has."""
        number = self.left[0]
        self.ironic.put(world.node(number, instance_uuid='i'))
        self.host.refresh()
        self.ironic.put(world.node(number))
        self.die()
        self.host.takeover.take_over({'host1'})
        self.assertEqual('host1', self.owners()[number])
        while self.host.refresh().limited:
            pass
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_one_round_claims_no_more_than_the_limit(self) -> None:
        self.die()
        self.host.reconciler.handover_limit = 2
        rounds = 0
        while self.host.takeover.take_over({'host1'}):
            rounds += 1
            self.assertEqual(
                len(self.left) - 2 * rounds,
                list(self.owners().values()).count('host1'),
            )
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertGreater(rounds, 1)

    def test_pause_leaves_the_nodes_until_it_ends(self) -> None:
        by = Origin('operator', 'req-1')
        self.records.begin_pause(by, 600.0, 'cables')
        self.die()
        self.host.reconciler.handover_limit = 2
        before = self.owners()
        # Not to be called again at once: nothing would change.
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        with self.assertLogs(service.LOGGER, 'WARNING') as logged:
            summary = self.host.refresh()
        self.assertIn('2 changes of owner waiting', logged.output[0])
        self.assertEqual((before, 2), (self.owners(), summary.paused))
        self.records.end_pauses(by, ['req-1'])
        while self.host.refresh().limited:
            pass
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_paused_nodes_do_not_keep_others_from_their_turn(self) -> None:
        *held, last = self.left
        self.assertGreater(len(held), 3)
        self.ironic.put(*(world.node(n, shard='a') for n in held))
        for one in (self.dead, self.host):
            one.refresh()
        by = Origin('operator', 'req-1')
        self.records.begin_pause(by, 600.0, 'cables', shard='a')
        self.die()
        self.host.reconciler.handover_limit = 1
        for _ in self.left:
            self.host.refresh()
        self.assertEqual('host2', self.owners().pop(last))
        self.assertEqual({'host1'}, {self.owners()[n] for n in held})
        self.records.end_pauses(by, ['req-1'])
        for _ in self.left:
            self.host.refresh()
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_budget_lets_some_nodes_follow_and_shows_what_waits(self) -> None:
        self.die()
        left = len(self.left)
        self.host.reconciler.budget = Budget(rate=2)
        # Not to be called again at once: nothing would change.
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        summary = self.host.refresh()
        self.assertEqual(left - 2, summary.delayed)
        owners = list(self.owners().values())
        self.assertEqual(left - 2, owners.count('host1'))
        self.assertLessEqual(summary.retry_in, 60.0)
        wait = refresh_loop.wait_for(
            summary, self.host.reconciler.budget, 60.0
        )
        self.assertEqual(30.0 * summary.delayed, wait)
        self.host.reconciler.budget = UNLIMITED
        self.assertEqual(0, self.host.refresh().delayed)
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_later_batches_do_not_shorten_the_wait(self) -> None:
        self.die()
        self.host.reconciler.budget = Budget(rate=1)
        (own, *_) = [n for n, o in self.owners().items() if o == 'host2']
        (row,) = [r for r in self.records.services() if r.host == 'host1']
        changes = [
            *(
                Claim(world.node(n), Reason.ASSIGNED, row.host, row.epoch)
                for n in self.left
            ),
            Update(world.node(own, name='other')),
        ]
        with unittest.mock.patch.object(reconciler, 'BATCH', 1):
            written = self.host.reconciler.write(changes)
        self.assertEqual(len(self.left) - 1, written.delayed)
        self.assertEqual(1, written.done[Update])
        self.assertGreater(written.retry_in, 0.0)

    def test_round_logs_one_line_for_each_dead_service(self) -> None:
        self.die()
        with (
            unittest.mock.patch.object(reconciler, 'BATCH', 1),
            self.assertLogs(service.LOGGER, 'INFO') as logged,
        ):
            self.host.takeover.take_over({'host1'})
        lines = [one for one in logged.output if 'took over' in one]
        self.assertEqual(1, len(lines), lines)
        self.assertIn(f'took over {len(self.left)} free nodes', lines[0])

    def test_list_that_took_long_is_as_old_as_its_end(self) -> None:
        fleet = self.ironic.fleet

        def slowly(*requested):
            self.shared.clock.elapse(15)
            return fleet(*requested)

        self.limit_age(21.0)
        with unittest.mock.patch.object(self.ironic, 'fleet', slowly):
            self.host.beat()
            self.host.refresh()
        self.die()
        self.host.takeover.take_over({'host1'})
        self.assertEqual({'host2'}, set(self.owners().values()))

    def test_owner_that_came_back_loses_nothing(self) -> None:
        self.die()
        instances = self.ironic.instances

        def while_it_returns(scope):
            self.records.register('host1', world.RING, incarnation='again')
            return instances(scope)

        self.ironic.instances = while_it_returns
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual(
            self.left, [n for n, o in self.owners().items() if o == 'host1']
        )

    def test_owner_that_is_alive_or_suspected_loses_nothing(self) -> None:
        before = self.state()
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.dead.backend.leave()
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual(before, self.state())

    def test_list_that_is_too_old_is_not_used(self) -> None:
        self.die()
        before = self.state()
        self.limit_age(10.0)
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual((before, []), (self.state(), self.requested()))

    def test_list_of_another_scope_is_not_used(self) -> None:
        self.die()
        before = self.state()
        other = world.runs(shard_key='a', peer_list=())
        self.host.refresher.reconfigure(service.tuning_of(other))
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual((before, []), (self.state(), self.requested()))

    def test_fenced_service_sends_no_request_and_claims_nothing(self) -> None:
        self.die()
        before = self.state()
        self.host.fence.drop()
        with self.assertRaises(exceptions.FencedError):
            self.host.takeover.take_over({'host1'})
        self.assertEqual((before, []), (self.state(), self.requested()))

    def test_right_that_ends_meanwhile_ends_it(self) -> None:
        self.die()
        before = self.state()
        instances = self.ironic.instances
        self.ironic.instances = lambda scope: (
            self.shared.clock.elapse(service.TTL - service.MARGIN + 0.5),
            instances(scope),
        )[1]
        with self.assertRaises(exceptions.FencedError):
            self.host.takeover.take_over({'host1'})
        self.assertEqual(before, self.state())

    def test_law_4_only_its_scope_is_requested(self) -> None:
        self.die()
        self.host.takeover.take_over({'host1'})
        self.assertEqual([('instances', model.Scope())], self.ironic.calls)


class TestIncremental(TakeOverCase):
    """A page of the latest changes tells what happened since the scan."""

    def prepare(self) -> None:
        # Every node was changed long before.
        self.ironic.clock = self.shared.clock
        for number in NODES:
            self.ironic.put(world.node(number, name=f'n{number}'))
        self.shared.clock.elapse(1000)
        self.host.read_changes(1e6)

    def taken_over(self) -> None:
        self.die()
        self.assertFalse(self.host.takeover.take_over({'host1'}))

    def test_one_request_is_enough_and_no_scan_is_too_old(self) -> None:
        self.limit_age(0.0)
        self.taken_over()
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertEqual(['latest_changes'], self.requested())

    def test_instance_since_the_scan_is_seen(self) -> None:
        number = self.left[0]
        self.ironic.put(world.node(number, instance_uuid='i'))
        self.taken_over()
        owners = self.owners()
        self.assertEqual('host1', owners.pop(number))
        self.assertEqual({'host2'}, set(owners.values()))
        self.assertEqual(['latest_changes'], self.requested())

    def test_without_such_a_page_instances_are_listed(self) -> None:
        number = self.left[0]
        self.ironic.put(world.node(number, instance_uuid='i'))
        self.ironic.clock = None
        self.taken_over()
        owners = self.owners()
        self.assertEqual('host1', owners.pop(number))
        self.assertEqual({'host2'}, set(owners.values()))
        self.assertEqual(['latest_changes', 'instances'], self.requested())


class TestExclusive(TakeOverCase):
    settings = world.ALL

    def test_nothing_is_ever_taken_over(self) -> None:
        self.die()
        before = self.state()
        self.assertFalse(self.host.takeover.take_over({'host1'}))
        self.assertEqual(before, self.state())


class TestSteps(TakeOverCase):
    def setUp(self) -> None:
        super().setUp()
        self.refresh = self.host.process.refresh_loop._wanted
        self.refresh.clear()

    def change(self, *died: str) -> None:
        """Let members change, and the take-over do what is due."""
        self.host.takeover.members_changed(frozenset(died))
        if self.host.takeover._wanted.is_set():
            self.host.takeover.run_step()
        self.assertTrue(self.refresh.is_set())
        self.refresh.clear()

    def test_change_without_a_death_is_for_the_refresh(self) -> None:
        self.change()
        self.assertEqual([], self.requested())

    def test_failure_leaves_it_to_the_refresh_and_ends_nothing(self) -> None:
        self.die()
        for failure in (
            exceptions.IronicUnavailableError('down'),
            ZeroDivisionError(),
        ):
            self.ironic.fail_with = failure
            with self.assertLogs(service.LOGGER, 'WARNING'):
                self.change('host1')
        self.ironic.fail_with = None
        self.change('host1')
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertNotIn('take-over', self.host.conditions.standing)

    def test_death_during_an_outage_of_the_records_is_recorded_later(
        self,
    ) -> None:
        self.die()
        down = exceptions.RecordsUnavailableError('down')
        with (
            unittest.mock.patch.object(
                self.records, 'record_death', side_effect=down
            ),
            self.assertLogs(service.LOGGER, 'INFO') as logged,
        ):
            self.change('host1')
            again_in = self.host.takeover.run_step()
        self.assertEqual(2.0, again_in)
        lines = [one for one in logged.output if 'host1 died' in one]
        self.assertEqual(1, len(lines), lines)
        self.assertIsNone(self.host.takeover.run_step())
        deaths = EventFilter(kinds=['service_died'])
        (event,) = self.records.events(deaths)
        self.assertIn('last heartbeat at least', event.reason or '')
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertNotIn('take-over', self.host.conditions.standing)

    def test_death_during_an_outage_of_the_members_is_recorded_later(
        self,
    ) -> None:
        self.die()
        self.shared.store.available = False
        with self.assertLogs(service.LOGGER, 'INFO'):
            self.change('host1')
        self.shared.store.available = True
        self.assertIsNone(self.host.takeover.run_step())
        deaths = EventFilter(kinds=['service_died'])
        self.assertEqual(1, len(self.records.events(deaths)))

    def test_death_is_recorded_once_the_service_may_act_again(self) -> None:
        """No other service saw it."""
        self.die()
        self.records.set_service('host2', actor='alice', forced_down=True)
        self.host.member.check_epoch()
        self.change('host1')
        self.assertIsNone(self.host.takeover.run_step())
        deaths = EventFilter(kinds=['service_died'])
        self.assertEqual([], self.records.events(deaths))
        self.records.set_service('host2', actor='alice', forced_down=False)
        self.host.beat()
        self.host.beat()
        self.host.takeover.run_step()
        self.assertEqual(1, len(self.records.events(deaths)))
        self.change()
        self.assertEqual(set(), self.host.take_died())

    def test_death_that_waits_is_none_if_the_service_came_back(self) -> None:
        self.die()
        self.shared.store.available = False
        with self.assertLogs(service.LOGGER, 'INFO'):
            self.change('host1')
        self.shared.store.available = True
        back = self.start('host1', self.settings)
        self.host.beat()
        back.backend.leave()
        self.host.beat()  # it is suspected
        self.assertIsNone(self.host.takeover.run_step())
        deaths = EventFilter(kinds=['service_died'])
        self.assertEqual([], self.records.events(deaths))

    def test_refresh_that_did_the_rest_ends_the_condition(self) -> None:
        self.die()
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        with self.assertLogs(service.LOGGER, 'WARNING'):
            self.change('host1')
            self.host.process.refresh_loop.run_step()
        self.assertIn('take-over', self.host.conditions.standing)
        self.ironic.fail_with = None
        self.host.process.refresh_loop.wake()
        self.host.process.refresh_loop.run_step()
        self.assertEqual({'host2'}, set(self.owners().values()))
        self.assertNotIn('take-over', self.host.conditions.standing)
        self.assertEqual([], self.host.process.monitor.health().faults)

    def test_service_that_is_back_did_not_die_again(self) -> None:
        self.die()
        self.start('host1', self.settings)
        deaths = EventFilter(kinds=['service_died'])
        self.change('host1')
        self.assertEqual([], self.records.events(deaths))

    def test_fenced_service_leaves_it_to_the_others(self) -> None:
        self.die()
        before = self.state()
        with unittest.mock.patch.object(
            fence.Fence,
            'epoch',
            side_effect=exceptions.FencedError('standing by'),
        ):
            self.change('host1')
        self.assertEqual(before, self.state())
