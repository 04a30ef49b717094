"""Laws of every membership backend: hosts and their processes.

Each process is a member by itself: a backend does not know which of those of a
host is active.
"""

from __future__ import annotations

import threading
import time
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER

BOTH = [('host1', 'one'), ('host1', 'two')]
LONGEST = 'a1' * 32

_HOUR = 3600.0


class MemberContract(backend_case.BackendCase):
    """Members as hosts: join, beat, expire, leave."""

    def test_view_without_members_is_empty(self) -> None:
        self.assertEqual((), self.build().view().members)

    def test_member_is_seen_by_all_with_what_it_advertises(self) -> None:
        self.joined('host-1.example.org', 'one')
        (member,) = self.build().view().members
        self.assertEqual(
            ('host-1.example.org', 'one', SETTINGS),
            (member.host, member.incarnation, member.settings),
        )

    def test_members_are_ordered_by_host_not_by_arrival(self) -> None:
        for host in ('host2', 'host10', 'host1'):
            self.joined(host, f'of{host}')
        hosts = [host for host, _ in self.members()]
        self.assertEqual(['host1', 'host10', 'host2'], hosts)

    def test_all_instances_see_the_same_view(self) -> None:
        one, two = self.joined('host1', 'one'), self.joined('host2', 'two')
        self.assertEqual({'host1', 'host2'}, one.view().hosts)
        self.assertEqual(one.view(), two.view())
        self.assertEqual(one.view().checksum, two.view().checksum)

    def test_later_member_has_the_later_joined_at(self) -> None:
        self.joined('host2', 'one')
        self.elapse(1)
        self.joined('host1', 'two')
        self.assertLess(
            self.member('host2', 'one').joined_at,
            self.member('host1', 'two').joined_at,
        )

    def test_expired_member_is_not_in_view(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        self.assertEqual([], self.members())
        self.assertEqual((), member.view().members)

    def test_expires_in_of_a_view_is_that_of_the_next_expiry(self) -> None:
        watching = self.build()
        self.assertIsNone(watching.view().expires_in)
        first = self.joined('host1', 'one')
        if watching.view().expires_in is None:
            return  # optional
        self.elapse(self.ttl * 0.4)
        self.joined('host2', 'two')
        asked_at = time.monotonic()
        left = watching.view().expires_in or 0
        took = time.monotonic() - asked_at
        self.assertGreater(left, 0)
        # A backend may count from the end of its call.
        self.assertLessEqual(left, self.ttl * 0.6 + took)
        self.elapse(left / 2)
        first.beat()
        self.elapse((watching.view().expires_in or 0) + 0.001)
        self.assertEqual([('host1', 'one')], self.members())

    def test_member_that_beats_stays_in_view(self) -> None:
        member = self.joined('host1', 'one')
        for _ in range(4):
            self.elapse(self.ttl * 0.4)
            member.beat()
        self.assertEqual([('host1', 'one')], self.members())

    def test_beat_keeps_joined_at_and_settings(self) -> None:
        member = self.joined('host1', 'one')
        before = member.view()
        self.assertEqual({'host1'}, before.hosts)
        member.beat()
        self.assertEqual(before, member.view())

    def test_expired_member_cannot_beat_itself_back(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.assertEqual([], self.members())

    def test_expired_member_can_rejoin(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        member.join('host1', 'one', OTHER)
        member.beat()
        self.assertEqual(OTHER, self.member('host1', 'one').settings)

    def test_beat_and_advertise_without_join_are_refused(self) -> None:
        stranger = self.build()
        with self.assertRaises(exceptions.NotMemberError):
            stranger.beat()
        with self.assertRaises(exceptions.NotMemberError):
            stranger.advertise(OTHER)

    def test_advertised_settings_are_replaced(self) -> None:
        member = self.joined('host1', 'one')
        member.advertise(OTHER)
        self.assertEqual(OTHER, self.member('host1', 'one').settings)
        member.beat()
        self.assertEqual(OTHER, self.member('host1', 'one').settings)

    def test_advertising_does_not_revive(self) -> None:
        member = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        with self.assertRaises(exceptions.NotMemberError):
            member.advertise(OTHER)
        self.assertEqual([], self.members())

    def test_leaving_is_seen_immediately_and_idempotent(self) -> None:
        member = self.joined('host1', 'one')
        self.joined('host2', 'two')
        member.leave()
        self.assertEqual([('host2', 'two')], self.members())
        member.leave()
        with self.assertRaises(exceptions.NotMemberError):
            member.beat()
        self.assertEqual([('host2', 'two')], self.members())

    def test_leaving_without_join_does_nothing(self) -> None:
        self.joined('host1', 'one')
        self.build().leave()
        self.assertEqual([('host1', 'one')], self.members())

    def test_member_that_left_can_join_again(self) -> None:
        member = self.joined('host1', 'one')
        member.leave()
        member.join('host1', 'one', OTHER)
        member.beat()
        self.assertEqual(OTHER, self.member('host1', 'one').settings)

    def test_views_from_other_threads_show_members_that_beat(self) -> None:
        member = self.joined('host1', 'one')
        seen: list[object] = []

        def read() -> None:
            for _ in range(5):
                try:
                    seen.append(member.view().hosts)
                except Exception as exc:  # noqa: BLE001 - shown by the test
                    seen.append(exc)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            member.beat()
        self.assertEqual([{'host1'}] * 15, seen)

    def test_jump_of_a_wall_clock_expires_no_member(self) -> None:
        ahead, back = self.joined('host1', 'one'), self.joined('host2', 'a')
        for one, jump in ((ahead, _HOUR), (back, -_HOUR)):
            now = time.time
            with (
                mock.patch('time.time', lambda j=jump, n=now: n() + j),
                mock.patch(
                    'time.time_ns', lambda j=jump, n=now: int((n() + j) * 1e9)
                ),
            ):
                one.beat()
                self.assertEqual({'host1', 'host2'}, one.view().hosts)
            self.assertEqual({'host1', 'host2'}, self.build().view().hosts)
        ahead.beat()
        back.beat()

    def test_closing_twice_is_fine_and_does_not_leave(self) -> None:
        member = self.joined('host1', 'one')
        member.close()
        member.close()
        self.assertEqual([('host1', 'one')], self.members())


class ProcessContract(backend_case.BackendCase):
    """Members are processes, not hosts."""

    def test_processes_of_a_host_are_all_in_the_view(self) -> None:
        self.joined('host1', 'one')
        self.joined('host1', 'two', OTHER)
        self.assertEqual(BOTH, self.members())
        self.assertEqual(SETTINGS, self.member('host1', 'one').settings)
        self.assertEqual(OTHER, self.member('host1', 'two').settings)

    def test_joining_leaves_the_other_process_as_it_is(self) -> None:
        first = self.joined('host1', 'one')
        self.elapse(1)
        self.joined('host1', 'two', OTHER)
        one, two = self.member(*BOTH[0]), self.member(*BOTH[1])
        self.assertEqual(SETTINGS, one.settings)
        self.assertLess(one.joined_at, two.joined_at)
        first.beat()

    def test_process_beats_and_expires_for_itself(self) -> None:
        beating, silent = self.joined(*BOTH[0]), self.joined(*BOTH[1])
        for _ in range(4):
            self.elapse(self.ttl * 0.4)
            beating.beat()
        self.assertEqual([BOTH[0]], self.members())
        with self.assertRaises(exceptions.NotMemberError):
            silent.beat()
        beating.beat()

    def test_process_leaves_for_itself(self) -> None:
        leaving, staying = self.joined(*BOTH[0]), self.joined(*BOTH[1])
        leaving.leave()
        self.assertEqual([BOTH[1]], self.members())
        staying.beat()
        with self.assertRaises(exceptions.NotMemberError):
            leaving.beat()
        with self.assertRaises(exceptions.NotMemberError):
            leaving.advertise(OTHER)

    def test_process_advertises_for_itself(self) -> None:
        self.joined(*BOTH[0])
        self.joined(*BOTH[1]).advertise(OTHER)
        self.assertEqual(SETTINGS, self.member(*BOTH[0]).settings)
        self.assertEqual(OTHER, self.member(*BOTH[1]).settings)

    def test_joining_again_as_oneself_renews_the_membership(self) -> None:
        member = self.joined('host1', 'one')
        for _ in range(2):
            self.elapse(self.ttl * 0.45)
            member.join('host1', 'one', OTHER)
        self.elapse(self.ttl * 0.45)
        self.assertEqual([('host1', 'one')], self.members())
        self.assertEqual(OTHER, self.member('host1', 'one').settings)
        member.beat()

    def test_joining_again_as_oneself_leaves_the_others(self) -> None:
        again, other = self.joined(*BOTH[0]), self.joined(*BOTH[1])
        again.join('host1', 'one', OTHER)
        self.assertEqual(BOTH, self.members())
        other.beat()

    def test_expired_process_is_refused_next_to_its_successor(self) -> None:
        old = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        new = self.joined('host1', 'two')
        with self.assertRaises(exceptions.NotMemberError):
            old.beat()
        with self.assertRaises(exceptions.NotMemberError):
            old.advertise(OTHER)
        old.leave()
        self.assertEqual([BOTH[1]], self.members())
        new.beat()

    def test_expired_process_rejoins_next_to_its_successor(self) -> None:
        old = self.joined('host1', 'one')
        self.elapse(self.ttl + 1)
        self.joined('host1', 'two')
        old.join('host1', 'one', SETTINGS)
        old.beat()
        self.assertEqual(BOTH, self.members())

    def test_hosts_that_share_an_incarnation_are_two_members(self) -> None:
        one, two = self.joined('host1', 'same'), self.joined('host10', 'same')
        self.assertEqual(
            [('host1', 'same'), ('host10', 'same')], self.members()
        )
        one.leave()
        self.assertEqual([('host10', 'same')], self.members())
        two.beat()

    def test_longest_incarnations_are_distinct(self) -> None:
        other = f'{LONGEST[:-1]}2'
        one, two = self.joined('host1', LONGEST), self.joined('host1', other)
        one.beat()
        two.beat()
        self.assertEqual(
            [('host1', LONGEST), ('host1', other)], self.members()
        )

    def test_concurrent_joins_of_a_host_are_all_in_the_view(self) -> None:
        self.check_all_join()

    def test_concurrent_joins_next_to_an_expired_process(self) -> None:
        self.joined('host1', 'dead')
        self.elapse(self.ttl + 1)
        self.check_all_join()

    def check_all_join(self) -> None:
        """Have several processes of one host join concurrently."""
        count = 6
        backends = [self.build() for _ in range(count)]
        for one in backends:
            one.view()
        start = threading.Barrier(count)
        outcomes: list[object] = []

        def run(number: int) -> None:
            start.wait()
            try:
                backends[number].join('host1', f'number{number}', SETTINGS)
            except Exception as exc:  # noqa: BLE001 - shown by the test
                outcomes.append(exc)
            else:
                outcomes.append('joined')

        threads = [
            threading.Thread(target=run, args=(n,)) for n in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(['joined'] * count, outcomes)
        self.assertEqual(
            [('host1', f'number{n}') for n in range(count)], self.members()
        )
        for one in backends:
            one.beat()
