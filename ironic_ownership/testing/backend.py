"""What every membership backend has to do, as tests to subclass.

Usage::

    class TestMyBackend(backend.BackendContract):
        def make_backend(self, member_ttl):
            return MyBackend({...}, member_ttl=member_ttl, call_timeout=5)

        def elapse(self, seconds): ...
"""

# ruff: noqa: D102 - the name of a test states the law

from __future__ import annotations

import threading
import unittest

from ironic_ownership.contracts import backend, exceptions, model

TTL = 30.0
"""Seconds that a member of these tests lives without a beat."""

SETTINGS = model.MemberSettings(
    (
        model.PolicySettings.of('shard_key', {'shard_key': 'Rack-1 é'}),
        model.PolicySettings.of(
            'peer_list', {'peer_list': ('a', 'b'), 'n': 1, 'x': None}
        ),
    )
)
OTHER = model.MemberSettings((model.PolicySettings.of('all', {}),))


class BackendContract(unittest.TestCase):
    """Laws of membership; a subclass says how to build its backend."""

    def make_backend(self, member_ttl: float) -> backend.MembershipBackend:
        """Return another instance on this test's store, not joined yet."""
        raise NotImplementedError

    def elapse(self, seconds: float) -> None:
        """Let time pass for this test's store."""
        raise NotImplementedError

    def build(self) -> backend.MembershipBackend:
        """Build an instance and have it closed after the test."""
        made = self.make_backend(TTL)
        self.addCleanup(made.close)
        return made

    def joined(
        self,
        host: str,
        incarnation: str,
        settings: model.MemberSettings = SETTINGS,
    ) -> backend.MembershipBackend:
        """Build an instance that has joined."""
        made = self.build()
        made.join(host, incarnation, settings)
        return made

    def test_view_without_members_is_empty(self) -> None:
        self.assertEqual((), self.build().view().members)

    def test_member_is_seen_by_all_with_what_it_advertises(self) -> None:
        self.joined('host1', 'one')
        member = self.build().view().get('host1')
        assert member is not None
        self.assertEqual(
            ('host1', 'one', SETTINGS),
            (member.host, member.incarnation, member.settings),
        )

    def test_members_are_ordered_by_host_not_by_arrival(self) -> None:
        for host in ('host2', 'host10', 'host1'):
            self.joined(host, f'of {host}')
        hosts = [m.host for m in self.build().view().members]
        self.assertEqual(['host1', 'host10', 'host2'], hosts)

    def test_all_instances_see_the_same_view(self) -> None:
        one, two = self.joined('host1', 'one'), self.joined('host2', 'two')
        self.assertEqual(one.view(), two.view())
        self.assertEqual(one.view().checksum, two.view().checksum)

    def test_later_member_has_the_later_joined_at(self) -> None:
        self.joined('host1', 'one')
        self.elapse(1)
        view = self.joined('host2', 'two').view()
        first, second = view.members
        self.assertLess(first.joined_at, second.joined_at)

    def test_expired_member_is_not_in_view(self) -> None:
        self.joined('host1', 'one')
        self.elapse(TTL + 1)
        self.assertEqual((), self.build().view().members)

    def test_member_that_beats_stays_in_view(self) -> None:
        member = self.joined('host1', 'one')
        for _ in range(3):
            self.elapse(TTL * 0.6)
            member.beat()
        self.assertEqual({'host1'}, self.build().view().hosts)

    def test_beat_keeps_joined_at_and_settings(self) -> None:
        member = self.joined('host1', 'one')
        before = member.view()
        member.beat()
        self.assertEqual(before, member.view())

    def test_expired_member_cannot_beat_itself_back(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(TTL + 1)
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.assertEqual((), member.view().members)

    def test_expired_member_can_rejoin(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(TTL + 1)
        member.join('host1', 'two', SETTINGS)
        member.beat()
        self.assertEqual({'host1'}, self.build().view().hosts)

    def test_beat_and_advertise_without_join_are_refused(self) -> None:
        stranger = self.build()
        with self.assertRaises(exceptions.NotMemberError):
            stranger.beat()
        with self.assertRaises(exceptions.NotMemberError):
            stranger.advertise(OTHER)

    def test_host_of_a_live_member_is_refused_naming_it(self) -> None:
        self.joined('host1', 'one')
        with self.assertRaises(exceptions.MemberExistsError) as caught:
            self.build().join('host1', 'two', OTHER)
        self.assertIn('host1', str(caught.exception))
        self.assertIn('one', str(caught.exception))

    def test_refused_join_changes_nothing(self) -> None:
        first = self.joined('host1', 'one')
        before = first.view()
        second = self.build()
        with self.assertRaises(exceptions.MemberExistsError):
            second.join('host1', 'two', OTHER)
        self.assertEqual(before, first.view())
        with self.assertRaises(exceptions.NotMemberError):
            second.beat()
        second.leave()
        first.beat()

    def test_expired_member_is_replaced_and_notices(self) -> None:
        old = self.joined('host1', 'one')
        self.elapse(TTL + 1)
        self.joined('host1', 'two')
        with self.assertRaises(exceptions.NotMemberError):
            old.beat()
        with self.assertRaises(exceptions.NotMemberError):
            old.advertise(OTHER)
        member = old.view().get('host1')
        assert member is not None
        self.assertEqual('two', member.incarnation)

    def test_leaving_does_not_take_the_successor_along(self) -> None:
        old = self.joined('host1', 'one')
        self.elapse(TTL + 1)
        self.joined('host1', 'two')
        old.leave()
        self.assertEqual({'host1'}, self.build().view().hosts)

    def test_joining_again_as_oneself_is_allowed(self) -> None:
        member = self.joined('host1', 'one')
        member.join('host1', 'one', OTHER)
        found = member.view().get('host1')
        assert found is not None
        self.assertEqual(OTHER, found.settings)

    def test_advertised_settings_are_replaced(self) -> None:
        member = self.joined('host1', 'one')
        member.advertise(OTHER)
        found = self.build().view().get('host1')
        assert found is not None
        self.assertEqual(OTHER, found.settings)

    def test_advertising_does_not_revive(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(TTL + 1)
        with self.assertRaises(exceptions.NotMemberError):
            member.advertise(OTHER)
        self.assertEqual((), member.view().members)

    def test_leaving_is_seen_at_once_and_idempotent(self) -> None:
        member = self.joined('host1', 'one')
        self.joined('host2', 'two')
        member.leave()
        member.leave()
        self.assertEqual({'host2'}, self.build().view().hosts)
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.joined('host1', 'three')

    def test_leaving_without_join_does_nothing(self) -> None:
        self.joined('host1', 'one')
        self.build().leave()
        self.assertEqual({'host1'}, self.build().view().hosts)

    def test_of_concurrent_joins_exactly_one_wins(self) -> None:
        self.check_one_winner()

    def test_of_concurrent_joins_for_an_expired_host_one_wins(self) -> None:
        self.joined('host1', 'dead')
        self.elapse(TTL + 1)
        self.check_one_winner()

    def check_one_winner(self) -> None:
        """Have several instances join as one host at once."""
        count = 6
        backends = [self.build() for _ in range(count)]
        for one in backends:
            one.view()
        start = threading.Barrier(count)
        outcomes: list[str] = []

        def run(number: int) -> None:
            start.wait()
            try:
                backends[number].join('host1', f'number{number}', SETTINGS)
            except exceptions.MemberExistsError:
                outcomes.append('refused')
            else:
                outcomes.append(f'number{number}')

        threads = [
            threading.Thread(target=run, args=(n,)) for n in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [o for o in outcomes if o != 'refused']
        self.assertEqual((count, 1), (len(outcomes), len(winners)))
        member = self.build().view().get('host1')
        assert member is not None
        self.assertEqual(winners[0], member.incarnation)

    def test_closing_twice_is_fine_and_does_not_leave(self) -> None:
        member = self.joined('host1', 'one')
        member.close()
        member.close()
        self.assertEqual({'host1'}, self.build().view().hosts)
