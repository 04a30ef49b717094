from __future__ import annotations

import dataclasses
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import tuning
from tests.unit.engine import service, world

A, B, C = (world.runs(shard_key=shard) for shard in 'abc')
LIMITS = missing_nodes.Limits(600.0, 0.25, 3)
TOO_OLD = exceptions.IronicTooOldError('Ironic is too old')
DOWN = exceptions.IronicUnavailableError('Ironic is down')


class ReloadCase(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(
            *(
                world.node(number, shard=shard)
                for number, shard in enumerate('aabbc')
            )
        )
        self.host = self.start('host1', A)
        self.host.refresh()
        self.loop = self.host.process.refresh_loop
        self.intervals = self.loop.intervals
        self.guard = self.host.process.guard
        self.reload = self.host.process.reload

    def row(self) -> model.Service:
        (row,) = (s for s in self.records.services() if s.host == 'host1')
        return row

    def member(self) -> model.Member:
        member = self.host.backend.view().get('host1')
        assert member is not None
        return member

    def turn(self) -> None:
        """Go once around the refresh loop."""
        self.loop.woken = True
        self.loop.step()

    def settle(self) -> None:
        """Go around both loops until the change is complete."""
        for _ in range(3):
            self.turn()
            self.host.beat()

    def listed(self) -> str | None:
        """Return the shard that was listed last."""
        *_, scope = (s for m, s in self.ironic.calls if m == 'scan')
        return scope.shard


class TestApplied(ReloadCase):
    def test_it_is_applied_without_leaving_the_membership(self) -> None:
        before, epoch = self.member(), self.row().epoch
        self.reload.request(service.tuning_of(B))
        self.settle()
        self.assertEqual(B, self.member().settings)
        self.assertEqual(B, self.row().settings)
        self.assertEqual(
            (before.incarnation, before.joined_at, epoch),
            (
                self.member().incarnation,
                self.member().joined_at,
                self.row().epoch,
            ),
        )
        self.assertEqual('b', self.listed())
        self.assertTrue(self.guard.policies.admits(world.node(9, shard='b')))

    def test_new_scope_is_listed_once_it_is_advertised(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.assertEqual((A, 'a'), (self.member().settings, self.listed()))
        self.host.beat()
        self.turn()
        self.assertEqual((B, 'b'), (self.member().settings, self.listed()))

    def test_new_scope_waits_until_the_records_know_it_too(self) -> None:
        advertise = self.records.advertise
        self.records.advertise = failing
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.host.beat()
        self.assertEqual(B, self.member().settings)
        self.turn()
        self.assertEqual('a', self.listed())
        self.records.advertise = advertise
        self.host.beat()
        self.turn()
        self.assertEqual('b', self.listed())

    def test_intervals_and_limits_change_with_it(self) -> None:
        limits = missing_nodes.Limits(1.0, 0.5, 7)
        self.reload.request(service.tuning_of(A, limits, 9, 70, 7.0))
        self.turn()
        self.assertEqual(7.0, self.host.availability.damper.recovery_delay)
        self.assertEqual(tuning.Intervals(5, 1, 9, 30), self.loop.intervals)
        self.assertEqual(70, self.host.reconciler.handover_limit)
        self.assertIs(limits, self.host.missing_nodes.limits)

    def test_changes_are_logged_also_if_the_records_fail_meanwhile(
        self,
    ) -> None:
        self.reload.refuse('no such shard')
        self.turn()
        self.reload.request(service.tuning_of(A, refresh_interval=9))
        logger = 'ironic_ownership.engine.host.reload'
        with self.assertLogs(logger, 'INFO') as logs:
            with (
                mock.patch.object(self.records, 'report', failing),
                self.assertRaises(exceptions.RecordsUnavailableError),
            ):
                self.turn()
            self.turn()
        self.assertEqual(1, len(logs.output))
        self.assertIn('refresh_interval: 60 -> 9', logs.output[0])
        self.assertIsNone(self.row().config_error)

    def test_credential_that_is_trusted_now_is_no_fault(self) -> None:
        self.ironic.failures = {
            'shard_counts': exceptions.IronicError('Ironic answered 403')
        }
        with self.assertLogs(service.LOGGER, 'ERROR'):
            self.host.process.prepare()
        self.assertIn('credential', self.host.conditions.standing)
        limits = dataclasses.replace(LIMITS, trusts_credential=True)
        self.reload.request(service.tuning_of(A, limits))
        self.turn()
        self.assertNotIn('credential', self.host.conditions.standing)

    def test_every_changed_option_is_logged(self) -> None:
        limits = missing_nodes.Limits(1.0, 0.5, 7)
        logger = 'ironic_ownership.engine.host.reload'
        with self.assertLogs(logger, 'INFO') as logs:
            self.reload.request(service.tuning_of(B, limits, 9, 70))
            self.settle()
        for text in (
            'shard_key.shard_key: a -> b',
            '[ownership] refresh_interval: 60 -> 9',
            '[ownership] recheck_interval: 600 -> 1',
            '[ownership] mass_loss_share: 0.25 -> 0.5',
            '[ownership] mass_loss_minimum: 3 -> 7',
            '[ownership] handover_limit: 5000 -> 70',
        ):
            self.assertIn(text, logs.output[0])
        self.assertNotIn('heartbeat_interval', logs.output[0])
        with self.assertLogs(logger, 'INFO') as logs:
            self.reload.request(service.tuning_of(B, limits, 9, 70))
            self.settle()
        (line,) = logs.output
        self.assertIn('no option has changed', line)

    def test_of_several_only_the_last_one_counts(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.reload.request(service.tuning_of(C))
        self.settle()
        self.assertEqual((C, 'c'), (self.member().settings, self.listed()))

    def test_request_during_an_application_is_not_lost(self) -> None:
        check = self.ironic.check

        def meanwhile() -> None:
            self.ironic.check = check
            self.reload.request(service.tuning_of(C))

        self.ironic.check = meanwhile
        self.reload.request(service.tuning_of(A))
        self.settle()
        self.assertEqual((C, 'c'), (self.member().settings, self.listed()))

    def test_outage_of_ironic_only_delays_it(self) -> None:
        self.ironic.failures = {'check': DOWN, 'scan': DOWN}
        self.reload.request(service.tuning_of(B))
        for _ in range(3):
            with self.assertRaises(exceptions.IronicUnavailableError):
                self.turn()
            self.host.beat()
        self.assertEqual(A, self.member().settings)
        self.ironic.failures = {}
        self.settle()
        self.assertEqual((B, 'b'), (self.member().settings, self.listed()))

    def test_service_that_loses_its_membership_rejoins_with_it(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.shared.clock.elapse(service.TTL)
        self.host.beat()
        self.host.beat()
        self.settle()
        self.assertEqual((B, 'b'), (self.member().settings, self.listed()))


class TestRefused(ReloadCase):
    def refuse(self, error: str) -> None:
        with self.assertLogs(service.LOGGER, 'ERROR') as logs:
            self.reload.refuse(error)
        (line,) = logs.output
        self.assertIn(f'the old one stays in use: {error}', line)

    def test_old_one_stays_and_the_row_has_the_reason(self) -> None:
        self.refuse('no such shard')
        self.settle()
        self.assertEqual((A, 'a'), (self.member().settings, self.listed()))
        self.assertEqual('no such shard', self.row().config_error)
        self.assertEqual(self.intervals, self.loop.intervals)

    def test_it_stays_until_the_good_one_is_really_applied(self) -> None:
        self.refuse('no such shard')
        self.settle()
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.assertEqual('no such shard', self.row().config_error)
        self.settle()
        self.assertIsNone(self.row().config_error)

    def test_ironic_that_is_down_does_not_hide_it(self) -> None:
        self.ironic.failures = {'check': DOWN, 'scan': DOWN}
        self.refuse('no such shard')
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.turn()
        self.assertEqual('no such shard', self.row().config_error)

    def test_ironic_too_old_for_it_is_a_refusal(self) -> None:
        self.ironic.failures = {'check': TOO_OLD}
        self.reload.request(service.tuning_of(B))
        with self.assertLogs(service.LOGGER, 'ERROR') as logs:
            self.settle()
        self.assertEqual(1, len(logs.records))
        self.assertEqual((A, 'a'), (self.member().settings, self.listed()))
        self.assertEqual(str(TOO_OLD), self.row().config_error)

    def test_ironic_too_old_for_any_list_does_not_hide_it(self) -> None:
        self.ironic.failures = {'check': TOO_OLD, 'scan': TOO_OLD}
        self.reload.request(service.tuning_of(B))
        with self.assertRaises(exceptions.IronicTooOldError):
            self.turn()
        self.assertEqual(str(TOO_OLD), self.row().config_error)

    def test_incomplete_change_is_reverted(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.host.beat()
        self.assertEqual(B, self.member().settings)
        self.refuse('no such shard')
        self.settle()
        self.assertEqual((A, 'a'), (self.member().settings, self.listed()))
        self.assertEqual(A, self.row().settings)

    def test_refusal_during_an_application_is_not_lost(self) -> None:
        check = self.ironic.check

        def meanwhile() -> None:
            self.ironic.check = check
            self.refuse('no such shard')

        self.ironic.check = meanwhile
        self.reload.request(service.tuning_of(A))
        self.settle()
        self.assertEqual('no such shard', self.row().config_error)

    def test_refusal_that_could_not_be_stored_is_stored_later(self) -> None:
        report = self.records.report
        self.records.report = failing
        self.refuse('no such shard')
        with self.assertRaises(exceptions.RecordsUnavailableError):
            self.turn()
        self.records.report = report
        self.settle()
        self.assertEqual('no such shard', self.row().config_error)

    def test_old_one_is_the_last_that_was_applied(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.settle()
        self.refuse('no such shard')
        self.settle()
        self.assertEqual((B, 'b'), (self.member().settings, self.listed()))


def failing(*args: object, **values: object) -> None:
    raise exceptions.RecordsUnavailableError('the database is down')


class TestSnapshots(ReloadCase):
    """The same configuration with another snapshot of a source."""

    def tuning(self, settings: model.MemberSettings) -> tuning.Tuning:
        rebuilt: list[tuning.Snapshots] = self.rebuilt

        def rebuild(snapshots: tuning.Snapshots) -> tuning.Tuning:
            rebuilt.append(snapshots)
            return self.tuning(settings)

        return dataclasses.replace(
            service.tuning_of(settings),
            snapshots={('p', 's'): settings.to_json()},
            rebuild=rebuild,
        )

    def setUp(self) -> None:
        super().setUp()
        self.rebuilt: list[tuning.Snapshots] = []

    def follow(self, settings: model.MemberSettings) -> bool:
        return self.reload.follow(self.tuning(settings), self.reload.current)

    def test_it_is_advertised_and_then_used(self) -> None:
        self.assertTrue(self.follow(B))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertEqual('b', self.listed())
        self.assertTrue(self.guard.policies.admits(world.node(9, shard='b')))

    def test_it_hides_no_refused_configuration(self) -> None:
        self.reload.refuse('unfinished file')
        self.settle()
        self.assertTrue(self.follow(B))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertIn('unfinished file', self.row().config_error or '')

    def test_it_waits_for_a_change_that_is_pending(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.assertFalse(self.follow(C))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertTrue(self.follow(C))
        self.settle()
        self.assertEqual(C, self.row().settings)

    def test_it_does_not_revert_a_change_that_came_first(self) -> None:
        before = self.reload.current
        self.reload.request(service.tuning_of(B))
        self.settle()
        self.assertFalse(self.reload.follow(self.tuning(A), before))
        self.settle()
        self.assertEqual(B, self.row().settings)

    def test_reload_keeps_the_snapshots(self) -> None:
        self.follow(B)
        self.settle()
        self.reload.request(self.tuning(C))
        self.assertEqual([{('p', 's'): B.to_json()}], self.rebuilt)

    def of_source(self, snapshots: tuning.Snapshots) -> tuning.Tuning:
        """Return a configuration of which the snapshot is the shard."""
        shard = snapshots.get(('p', 's'))
        return dataclasses.replace(
            service.tuning_of(world.runs(shard_key=shard or 'none')),
            snapshots=snapshots,
            rebuild=self.of_source,
        )

    def test_reload_before_the_sources_were_read_gets_their_snapshots(
        self,
    ) -> None:
        self.reload.request(self.of_source({}))
        self.reload.begin(self.of_source({('p', 's'): 'b'}))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertEqual({('p', 's'): 'b'}, self.reload.current.snapshots)

    def test_snapshot_that_the_new_configuration_refuses(self) -> None:
        refusal = exceptions.PolicySettingsError('no such zone')
        wanted = self.of_source({})
        wanted = dataclasses.replace(wanted, rebuild=lambda _: refused)
        refused = dataclasses.replace(
            self.of_source({}), rebuild=mock.Mock(side_effect=refusal)
        )
        self.reload.request(wanted)
        self.reload.begin(self.of_source({('p', 's'): 'b'}))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertIn('no such zone', self.row().config_error or '')

    def test_service_begins_with_it(self) -> None:
        self.reload.begin(self.tuning(B))
        self.turn()
        self.host.beat()
        self.assertEqual('b', self.listed())
        self.assertEqual(B, self.member().settings)


class TestSwap(service.ServiceCase):
    """Two services change places; every order of their steps."""

    def test_services_that_swap_shards_take_nothing_from_each_other(
        self,
    ) -> None:
        self.ironic.put(world.node(1, shard='a'), world.node(2, shard='b'))
        one, two = self.start('host1', A), self.start('host2', B)
        for each in (one, two):
            each.refresh()
        before = self.owners()
        one.member.change_settings(B)
        one.beat()
        one.refresher.reconfigure(service.tuning_of(B))
        for each in (one, two, one):
            each.refresh()
            self.assertEqual(before, self.owners())
        two.member.change_settings(A)
        two.beat()
        two.refresher.reconfigure(service.tuning_of(A))
        for each in (two, one, two):
            each.refresh()
            self.assertEqual(before, self.owners())

    def test_peers_that_disagree_about_each_other_move_nothing(self) -> None:
        self.ironic.put(*(world.node(number) for number in range(1, 12)))
        pair = world.runs(peer_list=('host1', 'host2'))
        trio = world.runs(peer_list=('host1', 'host2', 'host3'))
        one, two = self.start('host1', pair), self.start('host2', pair)
        one.refresh()
        two.refresh()
        before = self.owners()
        self.assertEqual({'host1', 'host2'}, set(before.values()))
        three = self.start('host3', trio)
        one.member.change_settings(trio)
        one.beat()
        for each in (one, two, three, one, two, three):
            each.refresh()
            self.assertEqual(before, self.owners())
        two.member.change_settings(trio)
        two.beat()
        for each in (one, two, three, three):
            each.refresh()
        self.assertEqual(
            {'host1', 'host2', 'host3'}, set(self.owners().values())
        )
