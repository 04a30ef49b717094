from __future__ import annotations

import dataclasses
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.host import tuning
from tests.unit.engine import service, world

A, B, C = (world.runs(shard_key=shard) for shard in 'abc')
LOGGER = 'ironic_ownership.engine.host.reload'
TOO_OLD = exceptions.IronicTooOldError('Ironic is too old')
DOWN = exceptions.IronicUnavailableError('Ironic is down')
KEY = 'p', 's'


def failing(*args: object, **values: object) -> None:
    raise exceptions.RecordsUnavailableError('the database is down')


class ReloadCase(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        for number, shard in enumerate('aabbc'):
            self.ironic.put(world.node(number, shard=shard))
        self.host = self.start('host1', A)
        self.host.refresh()
        self.loop = self.host.process.refresh_loop
        self.guard = self.host.process.guard
        self.reload = self.host.process.reload

    def row(self) -> model.Service:
        (row,) = self.records.services()
        return row

    def turn(self) -> None:
        """Go once around the refresh loop."""
        self.loop.woken = True
        self.loop.step()

    def settle(self) -> None:
        """Go around both loops until the change is complete."""
        for _ in range(3):
            self.turn()
            self.host.beat()

    def refuse(self, error: str = 'no such shard') -> None:
        with self.assertLogs(service.LOGGER, 'ERROR') as logs:
            self.reload.refuse(error)
        (line,) = logs.output
        self.assertIn(f'the old one stays in use: {error}', line)

    def assert_uses(
        self,
        advertised: model.MemberSettings,
        listed: model.MemberSettings | None = None,
        error: str | None = None,
    ) -> None:
        """Assert what is advertised, what was listed last, and the error."""
        member = self.host.backend.view().get('host1')
        *_, scope = (s for m, s in self.ironic.calls if m == 'scan')
        self.assertEqual(
            (advertised, world.runs(shard_key=scope.shard), error),
            (member.settings, listed or advertised, self.row().config_error),
        )


class TestApplied(ReloadCase):
    def test_new_scope_is_listed_once_it_is_advertised(self) -> None:
        """Without leaving the membership."""
        before = self.host.backend.view().get('host1')
        epoch = self.row().epoch
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.assert_uses(A)
        self.host.beat()
        self.turn()
        self.assert_uses(B)
        member = self.host.backend.view().get('host1')
        self.assertEqual(dataclasses.replace(before, settings=B), member)
        self.assertEqual((B, epoch), (self.row().settings, self.row().epoch))
        self.assertTrue(self.guard.policies.admits(world.node(9, shard='b')))

    def test_new_scope_waits_until_the_records_know_it_too(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        with mock.patch.object(self.records, 'advertise', failing):
            self.host.beat()
        self.turn()
        self.assert_uses(B, listed=A)
        self.host.beat()
        self.turn()
        self.assert_uses(B)

    def test_every_changed_option_is_used_and_logged(self) -> None:
        limits = missing_nodes.Limits(1.0, 0.5, 7)
        wanted = service.tuning_of(B, limits, 9, 70, 7.0)
        with self.assertLogs(LOGGER, 'INFO') as logs:
            for _ in range(2):
                self.reload.request(wanted)
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
        self.assertIn('no option has changed', logs.output[1])
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
        with self.assertLogs(LOGGER, 'INFO') as logs:
            with (
                mock.patch.object(self.records, 'report', failing),
                self.assertRaises(exceptions.RecordsUnavailableError),
            ):
                self.turn()
            self.turn()
        (line,) = logs.output
        self.assertIn('refresh_interval: 60 -> 9', line)
        self.assertIsNone(self.row().config_error)

    def test_credential_that_is_trusted_now_is_no_fault(self) -> None:
        self.ironic.failures = {
            'shard_counts': exceptions.IronicError('Ironic answered 403')
        }
        with self.assertLogs(service.LOGGER, 'ERROR'):
            self.host.process.prepare()
        self.assertIn('credential', self.host.conditions.standing)
        limits = dataclasses.replace(service.LIMITS, trusts_credential=True)
        self.reload.request(service.tuning_of(A, limits))
        self.turn()
        self.assertNotIn('credential', self.host.conditions.standing)

    def test_only_the_last_request_counts(self) -> None:
        """Also one that comes while another is applied, or refused."""
        self.reload.request(service.tuning_of(A))
        self.turn()
        self.meanwhile(
            self.ironic,
            'check',
            lambda: self.reload.request(service.tuning_of(C)),
        )
        self.reload.request(service.tuning_of(B))
        self.settle()
        self.assert_uses(C)
        self.meanwhile(self.ironic, 'check', self.refuse)
        self.reload.request(service.tuning_of(C))
        self.settle()
        self.assert_uses(C, error='no such shard')

    def test_outage_of_ironic_only_delays_it(self) -> None:
        self.ironic.failures = {'check': DOWN, 'scan': DOWN}
        self.reload.request(service.tuning_of(B))
        for _ in range(3):
            self.assertRaises(exceptions.IronicUnavailableError, self.turn)
            self.host.beat()
        self.ironic.failures = {}
        self.turn()
        self.assert_uses(A)
        self.settle()
        self.assert_uses(B)


class TestRefused(ReloadCase):
    def test_last_one_applied_stays_and_the_row_has_the_reason(self) -> None:
        before = self.loop.intervals
        self.refuse()
        self.settle()
        self.assert_uses(A, error='no such shard')
        self.assertEqual(before, self.loop.intervals)
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.assertEqual('no such shard', self.row().config_error)
        self.settle()
        self.assert_uses(B)
        self.refuse()
        self.settle()
        self.assert_uses(B, error='no such shard')

    def test_ironic_that_is_down_does_not_hide_it(self) -> None:
        self.ironic.failures = {'check': DOWN, 'scan': DOWN}
        self.refuse()
        self.assertRaises(exceptions.IronicUnavailableError, self.turn)
        self.assertEqual('no such shard', self.row().config_error)

    def test_ironic_too_old_for_it_is_a_refusal(self) -> None:
        self.ironic.failures = {'check': TOO_OLD, 'scan': TOO_OLD}
        self.reload.request(service.tuning_of(B))
        with self.assertLogs(LOGGER, 'ERROR') as logs:
            self.assertRaises(exceptions.IronicTooOldError, self.turn)
            del self.ironic.failures['scan']
            self.settle()
        self.assertEqual(1, len(logs.records))
        self.assert_uses(A, error=str(TOO_OLD))

    def test_incomplete_change_is_reverted(self) -> None:
        self.reload.request(service.tuning_of(B))
        self.turn()
        self.host.beat()
        self.assert_uses(B, listed=A)
        self.refuse()
        self.settle()
        self.assert_uses(A, error='no such shard')
        self.assertEqual(A, self.row().settings)

    def test_refusal_that_could_not_be_stored_is_stored_later(self) -> None:
        self.refuse()
        with (
            mock.patch.object(self.records, 'report', failing),
            self.assertRaises(exceptions.RecordsUnavailableError),
        ):
            self.turn()
        self.settle()
        self.assertEqual('no such shard', self.row().config_error)


class TestSnapshots(ReloadCase):
    """The same configuration with another snapshot of a source."""

    def of(self, snapshots: tuning.Snapshots) -> tuning.Tuning:
        """Return a configuration of which the snapshot is the shard."""
        shard = snapshots.get(KEY)
        if shard == 'refused':
            raise exceptions.PolicySettingsError('no such zone')
        return dataclasses.replace(
            service.tuning_of(world.runs(shard_key=shard or 'none')),
            snapshots=snapshots,
            rebuild=self.of,
        )

    def follow(self, shard: str) -> bool:
        return self.reload.follow(self.of({KEY: shard}), self.reload.current)

    def test_it_is_advertised_and_then_used(self) -> None:
        """It hides no refused configuration."""
        self.reload.refuse('unfinished file')
        self.settle()
        self.assertTrue(self.follow('b'))
        self.settle()
        self.assert_uses(B, error='unfinished file')
        self.assertEqual(B, self.row().settings)
        self.assertTrue(self.guard.policies.admits(world.node(9, shard='b')))

    def test_it_waits_for_a_change_that_is_pending(self) -> None:
        """And does not revert one that came first."""
        before = self.reload.current
        self.reload.request(service.tuning_of(B))
        self.assertFalse(self.follow('c'))
        self.settle()
        self.assertFalse(self.reload.follow(self.of({KEY: 'a'}), before))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertTrue(self.follow('c'))
        self.settle()
        self.assertEqual(C, self.row().settings)

    def test_reload_keeps_the_snapshots(self) -> None:
        """Also those that were read since it was requested."""
        for begins in (False, True):
            with self.subTest(begins=begins):
                self.setUp()
                if begins:
                    self.reload.request(self.of({}))
                    self.reload.begin(self.of({KEY: 'b'}))
                else:
                    self.follow('b')
                    self.settle()
                    self.reload.request(self.of({}))
                self.settle()
                self.assert_uses(B)
                self.assertEqual({KEY: 'b'}, self.reload.current.snapshots)

    def test_snapshot_that_the_new_configuration_refuses(self) -> None:
        refused = dataclasses.replace(
            self.of({}), rebuild=lambda _: self.of({KEY: 'refused'})
        )
        wanted = dataclasses.replace(self.of({}), rebuild=lambda _: refused)
        self.reload.request(wanted)
        self.reload.begin(self.of({KEY: 'b'}))
        self.settle()
        self.assertEqual(B, self.row().settings)
        self.assertIn('no such zone', self.row().config_error or '')


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
        for changes, settings, order in (
            (one, B, (one, two, one)),
            (two, A, (two, one, two)),
        ):
            changes.member.change_settings(settings)
            changes.beat()
            changes.refresher.reconfigure(service.tuning_of(settings))
            for each in order:
                each.refresh()
                self.assertEqual(before, self.owners())

    def test_peers_that_disagree_about_each_other_move_nothing(self) -> None:
        self.ironic.put(*map(world.node, range(1, 12)))
        pair = world.runs(peer_list=('host1', 'host2'))
        trio = world.runs(peer_list=('host1', 'host2', 'host3'))
        one, two = self.start('host1', pair), self.start('host2', pair)
        for each in (one, two):
            each.refresh()
        before = self.owners()
        self.assertEqual({'host1', 'host2'}, set(before.values()))
        three = self.start('host3', trio)
        one.member.change_settings(trio)
        one.beat()
        for each in (one, two, three) * 2:
            each.refresh()
            self.assertEqual(before, self.owners())
        two.member.change_settings(trio)
        two.beat()
        for each in (one, two, three, three):
            each.refresh()
        self.assertEqual(
            {'host1', 'host2', 'host3'}, set(self.owners().values())
        )
