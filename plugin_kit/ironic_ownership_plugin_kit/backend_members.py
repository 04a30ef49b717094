"""Laws of every membership backend: join, beat, expire, leave."""

from __future__ import annotations

import threading
import time
from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER

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
        left = watching.view().expires_in or 0
        self.assertGreater(left, 0)
        self.assertLessEqual(left, self.ttl * 0.6)
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
