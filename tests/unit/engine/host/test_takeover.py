"""Take-over of the nodes of dead services, by the last scan."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from unittest import mock

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
from tests.unit.engine import service, world

NODES = range(1, 21)
DOWN = exceptions.RecordsUnavailableError('down')
BY = Origin('operator', 'req-1')


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

    def take_over(self) -> bool:
        return self.host.takeover.take_over({'host1'})

    def disappear(self) -> None:
        del self.shared.store.rows['host1', self.dead.member.incarnation]

    def limit_age(self, seconds: float) -> None:
        """Use scans up to this age only."""
        loop = self.host.process.refresh_loop
        loop.intervals = dataclasses.replace(
            loop.intervals, refresh=(seconds - 60) / 2
        )

    def requested(self) -> list[str]:
        return [method for method, _ in self.ironic.calls]

    def assert_taken(self, but: Sequence[int] = ()) -> None:
        """Assert that host2 has all nodes; host1 keeps some."""
        self.assertEqual(
            {n: 'host1' if n in but else 'host2' for n in NODES}, self.owners()
        )


class TestTakeOver(TakeOverCase):
    def test_free_nodes_of_the_dead_are_claimed_without_a_scan(self) -> None:
        """Law 4: only its scope is requested."""
        self.assertNotEqual([], self.left)
        self.die()
        self.assertFalse(self.take_over())
        self.assert_taken()
        self.assertEqual([('instances', model.Scope())], self.ironic.calls)

    def test_node_with_an_instance_stays_wherever_that_is_found(self) -> None:
        for found in ('in Ironic', 'on record', 'in the last list'):
            with self.subTest(found):
                self.setUp()
                number = self.left[0]
                self.ironic.put(world.node(number, instance_uuid='i'))
                if found == 'on record':
                    self.dead.refresh()
                elif found == 'in the last list':
                    self.host.refresh()
                if found != 'in Ironic':
                    self.ironic.put(world.node(number))
                self.die()
                self.take_over()
                self.assert_taken([number])

    def test_one_round_claims_no_more_than_the_limit(self) -> None:
        self.die()
        self.host.reconciler.handover_limit = 2
        rounds = 0
        while self.take_over():
            rounds += 1
            self.assertEqual(
                len(self.left) - 2 * rounds,
                list(self.owners().values()).count('host1'),
            )
        self.assert_taken()
        self.assertGreater(rounds, 1)

    def test_pause_leaves_the_nodes_until_it_ends(self) -> None:
        self.records.begin_pause(BY, 600.0, 'cables')
        self.die()
        self.host.reconciler.handover_limit = 2
        # Not to be called again at once: nothing would change.
        self.assertFalse(self.take_over())
        with self.assertLogs(service.LOGGER, 'WARNING') as logged:
            summary = self.host.refresh()
        self.assertIn('2 changes of owner waiting', logged.output[0])
        self.assert_taken(self.left)
        self.assertEqual(2, summary.paused)
        self.records.end_pauses(BY, ['req-1'])
        while self.host.refresh().limited:
            pass
        self.assert_taken()

    def test_paused_nodes_do_not_keep_others_from_their_turn(self) -> None:
        *held, _ = self.left
        self.assertGreater(len(held), 3)
        self.ironic.put(*(world.node(n, shard='a') for n in held))
        for one in (self.dead, self.host):
            one.refresh()
        self.records.begin_pause(BY, 600.0, 'cables', shard='a')
        self.die()
        self.host.reconciler.handover_limit = 1
        for _ in self.left:
            self.host.refresh()
        self.assert_taken(held)

    def test_budget_lets_some_nodes_follow_and_shows_what_waits(self) -> None:
        self.die()
        self.host.reconciler.budget = Budget(rate=2)
        # Not to be called again at once: nothing would change.
        self.assertFalse(self.take_over())
        summary = self.host.refresh()
        waiting = list(self.owners().values()).count('host1')
        self.assertEqual([len(self.left) - 2] * 2, [waiting, summary.delayed])
        self.assertLessEqual(summary.retry_in, 60.0)
        wait = refresh_loop.wait_for(
            summary, self.host.reconciler.budget, 60.0
        )
        self.assertEqual(30.0 * summary.delayed, wait)
        self.host.reconciler.budget = UNLIMITED
        self.assertEqual(0, self.host.refresh().delayed)
        self.assert_taken()

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
        with mock.patch.object(reconciler, 'BATCH', 1):
            written = self.host.reconciler.write(changes)
        self.assertEqual(len(self.left) - 1, written.delayed)
        self.assertEqual(1, written.done[Update])
        self.assertGreater(written.retry_in, 0.0)

    def test_round_logs_one_line_for_each_dead_service(self) -> None:
        self.die()
        with (
            mock.patch.object(reconciler, 'BATCH', 1),
            self.assertLogs(service.LOGGER, 'INFO') as logged,
        ):
            self.take_over()
        (line,) = [one for one in logged.output if 'took over' in one]
        self.assertIn(f'took over {len(self.left)} free nodes', line)

    def test_list_that_took_long_is_as_old_as_its_end(self) -> None:
        self.limit_age(21.0)
        self.meanwhile(
            self.ironic, 'fleet', lambda: self.shared.clock.elapse(15)
        )
        self.host.beat()
        self.host.refresh()
        self.die()
        self.take_over()
        self.assert_taken()

    def test_nothing_is_taken_by_an_old_list_or_from_the_living(self) -> None:
        other = service.tuning_of(world.runs(shard_key='a', peer_list=()))
        for name, is_dead, arrange in (
            ('alive', False, lambda: None),
            ('suspected', False, self.disappear),
            ('too old', True, lambda: self.limit_age(10.0)),
            (
                'list of another scope',
                True,
                lambda: self.host.refresher.reconfigure(other),
            ),
        ):
            with self.subTest(name):
                self.setUp()
                if is_dead:
                    self.die()
                arrange()
                before = self.state()
                self.assertFalse(self.take_over())
                self.assertEqual(before, self.state())
                if is_dead:
                    self.assertEqual([], self.requested())


class TestIncremental(TakeOverCase):
    """A page of the latest changes tells what happened since the scan."""

    def prepare(self) -> None:
        # Every node was changed long before.
        self.ironic.clock = self.shared.clock
        for number in NODES:
            self.ironic.put(world.node(number, name=f'n{number}'))
        self.shared.clock.elapse(1000)
        self.host.read_changes(1e6)

    def test_instance_since_the_scan_is_seen(self) -> None:
        """One page is enough, and no scan is too old for it."""
        for has_page, requests in (
            (True, ['latest_changes']),
            (False, ['latest_changes', 'instances']),
        ):
            with self.subTest(has_page=has_page):
                self.setUp()
                number = self.left[0]
                self.ironic.put(world.node(number, instance_uuid='i'))
                if has_page:
                    self.limit_age(0.0)
                else:
                    self.ironic.clock = None
                self.die()
                self.assertFalse(self.take_over())
                self.assert_taken([number])
                self.assertEqual(requests, self.requested())


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

    def deaths(self) -> Sequence[model.Event]:
        return self.records.events(EventFilter(kinds=['service_died']))

    def test_change_without_a_death_is_for_the_refresh(self) -> None:
        self.change()
        self.assertEqual([], self.requested())

    def test_death_during_an_outage_of_the_records_is_recorded_later(
        self,
    ) -> None:
        self.die()
        with (
            mock.patch.object(self.records, 'record_death', side_effect=DOWN),
            self.assertLogs(service.LOGGER, 'INFO') as logged,
        ):
            self.change('host1')
            self.assertEqual(2.0, self.host.takeover.run_step())
        lines = [one for one in logged.output if 'host1 died' in one]
        self.assertEqual(1, len(lines), lines)
        self.assertIsNone(self.host.takeover.run_step())
        (event,) = self.deaths()
        self.assertIn('last heartbeat at least', event.reason or '')
        self.assert_taken()
        self.assertNotIn('take-over', self.host.conditions.standing)

    def test_death_during_an_outage_of_the_members_is_recorded_later(
        self,
    ) -> None:
        """But none if the service came back meanwhile."""
        for came_back in (False, True):
            with self.subTest(came_back=came_back):
                self.setUp()
                self.die()
                self.shared.store.available = False
                with self.assertLogs(service.LOGGER, 'INFO'):
                    self.change('host1')
                self.shared.store.available = True
                if came_back:
                    back = self.start('host1', self.settings)
                    self.host.beat()
                    back.backend.leave()
                    self.host.beat()  # it is suspected
                self.assertIsNone(self.host.takeover.run_step())
                self.assertEqual(not came_back, len(self.deaths()))

    def test_death_is_recorded_once_the_service_may_act_again(self) -> None:
        """No other service saw it."""
        self.die()
        before = self.owners()
        self.records.set_service('host2', actor='alice', forced_down=True)
        self.host.member.check_epoch()
        self.change('host1')
        self.assertIsNone(self.host.takeover.run_step())
        self.assertEqual(([], before), (self.deaths(), self.owners()))
        self.records.set_service('host2', actor='alice', forced_down=False)
        self.host.beat()
        self.host.beat()
        self.host.takeover.run_step()
        self.assertEqual(1, len(self.deaths()))
        self.change()
        self.assertEqual(set(), self.host.take_died())

    def test_service_that_is_back_did_not_die_again(self) -> None:
        self.die()
        self.start('host1', self.settings)
        self.change('host1')
        self.assertEqual([], self.deaths())

    def test_failure_leaves_it_to_the_refresh_and_ends_nothing(self) -> None:
        for follows in ('take-over', 'refresh'):
            with self.subTest(follows):
                self.setUp()
                self.die()
                loop = self.host.process.refresh_loop
                for failure in (
                    ZeroDivisionError(),
                    exceptions.IronicUnavailableError('down'),
                ):
                    self.ironic.fail_with = failure
                    with self.assertLogs(service.LOGGER, 'WARNING'):
                        self.change('host1')
                        loop.run_step()
                self.assertIn('take-over', self.host.conditions.standing)
                self.ironic.fail_with = None
                if follows == 'take-over':
                    self.change('host1')
                else:
                    loop.wake()
                    loop.run_step()
                    faults = self.host.process.monitor.health().faults
                    self.assertEqual([], faults)
                self.assert_taken()
                self.assertNotIn('take-over', self.host.conditions.standing)
