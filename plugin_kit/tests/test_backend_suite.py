"""Each law of the backends' suites fails for the backend that breaks it."""

from __future__ import annotations

import threading
import time
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ironic_ownership.backends import memory
from ironic_ownership_plugin_kit import backend, backend_case, fakes
from tests import broken_backends as broken

Kind = type[broken.Broken]

MEMBERS: Mapping[Kind, str] = {
    broken.SeesGhostWhenAlone: """
        advertising_does_not_revive
        expired_member_cannot_beat_itself_back
        expired_member_is_not_in_view
        member_that_the_store_forgot_is_refused
        view_without_members_is_empty
    """,
    broken.ForgetsSettings: """
        expired_member_can_rejoin
        joining_again_as_oneself_renews_the_membership
        joining_leaves_the_other_process_as_it_is
        member_is_seen_by_all_with_what_it_advertises
        member_that_left_can_join_again
        member_that_the_store_forgot_can_rejoin
        process_advertises_for_itself
        processes_of_a_host_are_all_in_the_view
    """,
    broken.OrdersByArrival: """
        concurrent_joins_next_to_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
        expired_process_rejoins_next_to_its_successor
        members_are_ordered_by_host_not_by_arrival
    """,
    broken.SeesItselfFirst: 'all_instances_see_the_same_view',
    broken.JoinsInTheYearZero: """
        joining_leaves_the_other_process_as_it_is
        later_member_has_the_later_joined_at
        member_that_the_store_forgot_can_rejoin
    """,
    broken.ShowsTheExpired: """
        advertising_does_not_revive
        expired_member_cannot_beat_itself_back
        expired_member_is_not_in_view
        process_beats_and_expires_for_itself
    """,
    broken.AlwaysAnnouncesTheTimeToLive: """
        expires_in_of_a_view_is_that_of_the_next_expiry
    """,
    broken.BeatsItselfBack: """
        expired_member_cannot_beat_itself_back
        process_beats_and_expires_for_itself
    """,
    broken.BeatsInVain: """
        member_that_beats_stays_in_view
        expires_in_of_a_view_is_that_of_the_next_expiry
        process_beats_and_expires_for_itself
    """,
    broken.BeatsAsNewcomer: """
        beat_keeps_joined_at_and_settings
        member_that_the_store_forgot_can_rejoin
    """,
    broken.BeatsForTheHost: 'process_beats_and_expires_for_itself',
    broken.AdvertisesUninvited: 'beat_and_advertise_without_join_are_refused',
    broken.AdvertisesUntilTheNextBeat: 'advertised_settings_are_replaced',
    broken.AdvertisesItselfBack: 'advertising_does_not_revive',
    broken.AdvertisesForTheHost: 'process_advertises_for_itself',
    broken.LeavesInVain: """
        hosts_that_share_an_incarnation_are_two_members
        leaving_is_seen_immediately_and_idempotent
        process_leaves_for_itself
    """,
    broken.LeavesWithTheHost: """
        expired_process_is_refused_next_to_its_successor
        process_leaves_for_itself
    """,
    broken.StrangerLeavesForAll: 'leaving_without_join_does_nothing',
    broken.NeverJoinsTwice: """
        expired_member_can_rejoin
        expired_process_rejoins_next_to_its_successor
        join_that_failed_succeeds_after_the_outage
        member_that_left_can_join_again
        member_that_the_store_forgot_can_rejoin
    """,
    broken.ReadsFromOneThread: """
        call_during_an_outage_fails_in_time
        outage_expires_no_member
        views_from_other_threads_show_members_that_beat
    """,
    broken.BelievesTheWallClock: 'jump_of_a_wall_clock_expires_no_member',
    broken.ClosesAndLeaves: 'closing_twice_is_fine_and_does_not_leave',
    broken.RejoinsAlone: 'joining_again_as_oneself_leaves_the_others',
    broken.RejoinsOnlyInPlaceOfOthers: """
        expired_process_rejoins_next_to_its_successor
    """,
    broken.RejoinsInVain: 'joining_again_as_oneself_renews_the_membership',
    broken.JoinsWithEveryonesSettings: """
        joining_leaves_the_other_process_as_it_is
        processes_of_a_host_are_all_in_the_view
    """,
    broken.CutsTheIncarnation: 'longest_incarnations_are_distinct',
    broken.KnowsIncarnationsOnly: """
        hosts_that_share_an_incarnation_are_two_members
    """,
    broken.LosesConcurrentJoins: """
        concurrent_joins_next_to_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
    """,
    broken.HangsInLeave: 'leaving_during_an_outage_ends_in_time',
    broken.FailsWithTheDriversError: """
        first_call_during_an_outage_fails_in_time
    """,
    broken.AdvertisesDuringAnOutage: 'call_during_an_outage_fails_in_time',
    broken.FailsToClose: 'closing_during_an_outage_ends_in_time',
    broken.ForgetsInAnOutage: 'outage_expires_no_member',
    broken.GivesUpAfterAFailedJoin: """
        join_that_failed_succeeds_after_the_outage
    """,
    broken.ReturnsUnasked: 'member_that_the_store_forgot_is_refused',
    broken.NeedsItsOwnRow: 'member_that_the_store_forgot_can_rejoin',
    broken.RejoinsAsIfNothingWasLost: """
        member_that_the_store_forgot_can_rejoin
    """,
}

WATCHES: Mapping[Kind, str] = {
    broken.DeclaresNoWatch: 'capability_is_declared',
    broken.NotifiesWithoutEnd: """
        change_between_two_calls_ends_the_next_wait
        changes_are_reported_again_after_an_outage
        expiry_ends_a_wait
        join_ends_a_wait
        join_of_another_process_of_a_host_ends_a_wait
        leaving_ends_a_wait
        view_answers_while_a_watch_waits
        wait_during_an_outage_ends_in_time
        wait_without_a_change_ends_with_false
    """,
    broken.NotifiesOfHosts: 'join_of_another_process_of_a_host_ends_a_wait',
    broken.NotifiesOfTheKnown: 'expiry_ends_a_wait',
    broken.NotifiesOfArrivals: """
        expiry_ends_a_wait
        leaving_ends_a_wait
    """,
    broken.NotifiesOfDepartures: """
        change_between_two_calls_ends_the_next_wait
        changes_are_reported_again_after_an_outage
        join_ends_a_wait
        join_of_another_process_of_a_host_ends_a_wait
        view_answers_while_a_watch_waits
    """,
    broken.NotifiesWhileItWaits: 'change_between_two_calls_ends_the_next_wait',
    broken.ReadsWhenNoWatchWaits: 'view_answers_while_a_watch_waits',
    broken.HangsInWatch: 'wait_during_an_outage_ends_in_time',
    broken.NotifiesUntilTheFirstOutage: """
        changes_are_reported_again_after_an_outage
    """,
}

ALL = (backend.BackendContract, backend.OutageContract)
WATCH = (backend.WatchContract,)

POLLS = 30
"""Polls of a backend that waits for a change and does not see it."""


class Store(memory.MemoryStore):
    """Shows what its backends do, so that no test waits without need."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.interruptions = 0
        self.polls = 0
        self.hanging, self.released = threading.Event(), threading.Event()

    def check(self) -> None:
        self.polls += 1
        super().check()


class StoreCase(fakes.MemoryCase):
    """Ends a wait once a backend hangs, or polls without a result."""

    call_timeout = 0.1
    patience = 30.0
    moment = 0.01

    def setUp(self) -> None:
        super().setUp()
        self.store = Store(self.clock)
        self.addCleanup(self.store.released.set)

    def interrupt(self) -> None:
        self.store.interruptions += 1
        super().interrupt()

    def wait_for(self, event: threading.Event, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        last = self.store.polls + POLLS
        while (
            not event.is_set()
            and not self.store.hanging.is_set()
            and self.store.polls < last
            and time.monotonic() < deadline
        ):
            event.wait(0.001)
        return event.is_set()

    def answered(self, call: Callable[[], object]) -> object:
        return call()  # no retry: a store in memory is back immediately

    def let_wait(self) -> None:
        before, deadline = self.store.polls, time.monotonic() + self.patience
        while (
            self.store.polls < before + 2
            and self.polls
            and time.monotonic() < deadline
        ):
            time.sleep(0.001)


def tests_of(
    kind: Kind, suites: Sequence[type[backend_case.BackendCase]]
) -> unittest.TestSuite:
    """Return the laws of the suites for one backend."""
    load = unittest.TestLoader().loadTestsFromTestCase
    # One that does not poll cannot be waited for.
    polls = kind is not broken.NotifiesWithoutEnd
    return unittest.TestSuite(
        load(
            type(
                kind.__name__,
                (StoreCase, suite),
                {'kind': kind, 'polls': polls},
            )
        )
        for suite in suites
    )


def laws(tests: unittest.TestSuite) -> set[str]:
    """Return the names of the laws in suites."""
    return {_name(test) for suite in tests for test in suite}


def _name(test: unittest.TestCase) -> str:
    return test.id().rpartition('.test_')[2]


class BrokenCase(unittest.TestCase):
    """Runs the suites for a backend that is broken on purpose."""

    suites: ClassVar[Sequence[type[backend_case.BackendCase]]] = ALL

    def check(self, kind: Kind, expected: str = '') -> None:
        """Run the suites, and compare the laws that failed."""
        found = unittest.TestResult()
        tests_of(kind, self.suites).run(found)
        failed = {
            _name(test): text for test, text in found.failures + found.errors
        }
        self.assertEqual(
            sorted(expected.split()),
            sorted(failed),
            '\n'.join(failed.values()),
        )

    def check_complete(self, broken_laws: Mapping[Kind, str]) -> None:
        """Check that a sound backend passes, and each law is broken."""
        self.check(broken.Broken)
        self.assertEqual(
            laws(tests_of(broken.Broken, self.suites)),
            set(' '.join(broken_laws.values()).split()),
        )


class TestMemberLaws(BrokenCase):
    def test_each_law_has_a_backend_that_breaks_it(self) -> None:
        self.check_complete(MEMBERS)


class TestWatchLaws(BrokenCase):
    suites = WATCH

    def test_each_law_has_a_backend_that_breaks_it(self) -> None:
        self.check_complete(WATCHES)


class SlowStore(fakes.MemoryCase):
    kind = broken.AnswersTheFirstJoinLate


class TestSlowStore(unittest.TestCase):
    def test_join_before_the_outage_is_waited_for(self) -> None:
        suite = type('Laws', (SlowStore, backend.OutageContract), {})
        found = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(suite).run(found)
        self.assertEqual(8, found.testsRun)
        self.assertEqual([], [*found.errors, *found.failures])


def _add(case: type[BrokenCase], kind: Kind, expected: str) -> None:
    """Add a test for one backend, so that runners can spread them."""

    def test(self: BrokenCase) -> None:
        self.check(kind, expected)

    setattr(case, f'test_{kind.__name__}_breaks_only_its_laws', test)


for _case, _kinds in (
    (TestMemberLaws, MEMBERS),
    (TestWatchLaws, WATCHES),
):
    for _kind, _expected in _kinds.items():
        _add(_case, _kind, _expected)

del _case  # a loader takes it for one more class
