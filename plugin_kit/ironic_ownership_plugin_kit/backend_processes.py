"""Laws of every membership backend for several processes of one host.

Each is a member by itself: a backend does not know which of them is active.
"""

from __future__ import annotations

import threading

from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit import backend_case

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER

BOTH = [('host1', 'one'), ('host1', 'two')]
LONGEST = 'a1' * 32


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
