"""Each law of the backends' suites fails for the backend that breaks it."""

from __future__ import annotations

import concurrent.futures
import threading
import unittest
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ironic_ownership.testing import backend, backend_case
from tests.contract import test_memory_backend as sound
from tests.unit.testing import broken_backends as broken

Kind = type[broken.Broken]

MEMBERS: Mapping[Kind, str] = {
    broken.SeesGhostWhenAlone: """
        advertising_does_not_revive
        expired_member_cannot_beat_itself_back
        expired_member_is_not_in_view
        member_that_the_store_forgot_is_told
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
        concurrent_joins_beside_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
        expired_process_rejoins_beside_its_successor
        members_are_ordered_by_host_not_by_arrival
    """,
    broken.SeesItselfFirst: """
        all_instances_see_the_same_view
    """,
    broken.JoinsInTheYearZero: """
        joining_leaves_the_other_process_as_it_is
        later_member_has_the_later_joined_at
    """,
    broken.NeverExpires: """
        advertising_does_not_revive
        concurrent_joins_beside_an_expired_process
        expired_member_cannot_beat_itself_back
        expired_member_is_not_in_view
        expired_process_notices_beside_its_successor
        moment_that_a_view_tells_is_that_of_the_next_expiry
        process_beats_and_expires_for_itself
    """,
    broken.ShowsTheExpired: """
        advertising_does_not_revive
        expired_member_cannot_beat_itself_back
        expired_member_is_not_in_view
        process_beats_and_expires_for_itself
    """,
    broken.TellsTheLastExpiry: """
        moment_that_a_view_tells_is_that_of_the_next_expiry
    """,
    broken.TellsExpiriesOfYesterday: """
        moment_that_a_view_tells_is_that_of_the_next_expiry
    """,
    broken.AlwaysTellsTheTimeToLive: """
        moment_that_a_view_tells_is_that_of_the_next_expiry
    """,
    broken.BeatsItselfBack: """
        expired_member_cannot_beat_itself_back
        process_beats_and_expires_for_itself
    """,
    broken.BeatsInVain: """
        member_that_beats_stays_in_view
        moment_that_a_view_tells_is_that_of_the_next_expiry
        process_beats_and_expires_for_itself
    """,
    broken.BeatsAsNewcomer: """
        beat_keeps_joined_at_and_settings
    """,
    broken.BeatsUninvited: """
        beat_and_advertise_without_join_are_refused
    """,
    broken.BeatsForTheHost: """
        process_beats_and_expires_for_itself
    """,
    broken.BeatsAsItsHost: """
        expired_process_notices_beside_its_successor
        member_that_beats_stays_in_view
        moment_that_a_view_tells_is_that_of_the_next_expiry
        process_beats_and_expires_for_itself
        process_leaves_for_itself
    """,
    broken.AdvertisesUninvited: """
        beat_and_advertise_without_join_are_refused
    """,
    broken.AdvertisesInVain: """
        advertised_settings_are_replaced
        process_advertises_for_itself
    """,
    broken.AdvertisesUntilTheNextBeat: """
        advertised_settings_are_replaced
    """,
    broken.AdvertisesItselfBack: """
        advertising_does_not_revive
    """,
    broken.AdvertisesForTheHost: """
        process_advertises_for_itself
    """,
    broken.LeavesInVain: """
        hosts_that_share_an_incarnation_are_two_members
        leaving_is_seen_at_once_and_idempotent
        process_leaves_for_itself
    """,
    broken.LeavesOnlyOnce: """
        expired_process_notices_beside_its_successor
        leaving_is_seen_at_once_and_idempotent
        leaving_without_join_does_nothing
    """,
    broken.LeavesWithTheHost: """
        expired_process_notices_beside_its_successor
        process_leaves_for_itself
    """,
    broken.LeavesWithLikeNamedHosts: """
        hosts_that_share_an_incarnation_are_two_members
    """,
    broken.StrangerLeavesForAll: """
        leaving_without_join_does_nothing
    """,
    broken.NeverJoinsTwice: """
        expired_member_can_rejoin
        expired_process_rejoins_beside_its_successor
        join_that_failed_succeeds_after_the_outage
        member_that_left_can_join_again
        member_that_the_store_forgot_can_rejoin
    """,
    broken.LooksFromOneThread: """
        call_during_an_outage_says_so_in_time
        outage_kills_nobody
        views_from_other_threads_show_whoever_beats
    """,
    broken.BelievesTheWallClock: """
        wall_clock_of_a_member_that_jumps_kills_nobody
    """,
    broken.ClosesAndLeaves: """
        closing_twice_is_fine_and_does_not_leave
    """,
    broken.ClosesOnlyOnce: """
        closing_during_an_outage_ends_in_time
        closing_twice_is_fine_and_does_not_leave
    """,
}

PROCESSES: Mapping[Kind, str] = {
    broken.ReplacesTheOtherProcess: """
        concurrent_joins_beside_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
        expired_process_rejoins_beside_its_successor
        joining_again_as_oneself_leaves_the_others
        joining_leaves_the_other_process_as_it_is
        longest_incarnations_are_told_apart
        process_advertises_for_itself
        process_beats_and_expires_for_itself
        processes_of_a_host_are_all_in_the_view
    """,
    broken.RefusesTheOtherProcess: """
        concurrent_joins_beside_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
        expired_process_rejoins_beside_its_successor
        joining_again_as_oneself_leaves_the_others
        joining_leaves_the_other_process_as_it_is
        longest_incarnations_are_told_apart
        process_advertises_for_itself
        process_beats_and_expires_for_itself
        process_leaves_for_itself
        processes_of_a_host_are_all_in_the_view
    """,
    broken.RejoinsAlone: """
        joining_again_as_oneself_leaves_the_others
    """,
    broken.RejoinsOnlyInPlaceOfOthers: """
        expired_process_rejoins_beside_its_successor
    """,
    broken.RejoinsInVain: """
        joining_again_as_oneself_renews_the_membership
    """,
    broken.RejoinsWithoutRenewal: """
        joining_again_as_oneself_renews_the_membership
    """,
    broken.JoinsWithEveryonesSettings: """
        joining_leaves_the_other_process_as_it_is
        processes_of_a_host_are_all_in_the_view
    """,
    broken.CutsTheIncarnation: """
        longest_incarnations_are_told_apart
    """,
    broken.KnowsIncarnationsOnly: """
        hosts_that_share_an_incarnation_are_two_members
    """,
    broken.LosesConcurrentJoins: """
        concurrent_joins_beside_an_expired_process
        concurrent_joins_of_a_host_are_all_in_the_view
    """,
}

OUTAGES: Mapping[Kind, str] = {
    broken.SeesNobodyInAnOutage: """
        call_during_an_outage_says_so_in_time
        first_call_during_an_outage_says_so_in_time
        outage_kills_nobody
    """,
    broken.HangsInView: """
        call_during_an_outage_says_so_in_time
        first_call_during_an_outage_says_so_in_time
        outage_kills_nobody
    """,
    broken.HangsInBeat: """
        call_during_an_outage_says_so_in_time
        outage_kills_nobody
    """,
    broken.HangsInJoin: """
        call_during_an_outage_says_so_in_time
        first_call_during_an_outage_says_so_in_time
        join_that_failed_succeeds_after_the_outage
    """,
    broken.HangsInLeave: """
        leaving_during_an_outage_ends_in_time
    """,
    broken.HangsInClose: """
        closing_during_an_outage_ends_in_time
    """,
    broken.FailsWithTheDriversError: """
        first_call_during_an_outage_says_so_in_time
    """,
    broken.AdvertisesDuringAnOutage: """
        call_during_an_outage_says_so_in_time
    """,
    broken.LeavesSilently: """
        leaving_during_an_outage_ends_in_time
    """,
    broken.FailsToClose: """
        closing_during_an_outage_ends_in_time
    """,
    broken.ForgetsInAnOutage: """
        outage_kills_nobody
    """,
    broken.GivesUpAfterAFailedJoin: """
        join_that_failed_succeeds_after_the_outage
    """,
    broken.ReturnsUnasked: """
        member_that_the_store_forgot_is_told
    """,
    broken.NeedsItsOwnRow: """
        member_that_the_store_forgot_can_rejoin
    """,
}

WATCHES: Mapping[Kind, str] = {
    broken.DeclaresNoWatch: """
        capability_is_declared
    """,
    broken.TellsWithoutEnd: """
        change_between_two_calls_ends_the_next_wait
        changes_are_told_again_after_an_outage
        expiry_ends_a_wait
        join_ends_a_wait
        join_of_another_process_of_a_host_ends_a_wait
        leaving_ends_a_wait
        view_answers_while_a_watch_waits
        wait_during_an_outage_ends_in_time
        wait_without_a_change_ends_with_false
    """,
    broken.TellsOfHosts: """
        join_of_another_process_of_a_host_ends_a_wait
    """,
    broken.TellsOfTheKnown: """
        expiry_ends_a_wait
    """,
    broken.TellsOfArrivals: """
        expiry_ends_a_wait
        leaving_ends_a_wait
    """,
    broken.TellsOfDepartures: """
        change_between_two_calls_ends_the_next_wait
        changes_are_told_again_after_an_outage
        join_ends_a_wait
        join_of_another_process_of_a_host_ends_a_wait
        view_answers_while_a_watch_waits
    """,
    broken.TellsWhileItWaits: """
        change_between_two_calls_ends_the_next_wait
    """,
    broken.LooksWhenNobodyWaits: """
        view_answers_while_a_watch_waits
    """,
    broken.HangsInWatch: """
        wait_during_an_outage_ends_in_time
    """,
    broken.TellsUntilTheFirstOutage: """
        changes_are_told_again_after_an_outage
    """,
}

ALL = (backend.BackendContract, backend.OutageContract)
WATCH = (backend.WatchContract,)


class _Store(sound.MemoryCase):
    """Waits long enough for a busy machine, and not longer."""

    call_timeout = 0.1
    patience = 4.0

    def setUp(self) -> None:
        super().setUp()
        self.store.interruptions = 0

    def interrupt(self) -> None:
        self.store.interruptions += 1
        super().interrupt()


def tests_of(
    kind: Kind, suites: Sequence[type[backend_case.BackendCase]]
) -> unittest.TestSuite:
    """Return the laws of the suites for one backend."""
    load = unittest.TestLoader().loadTestsFromTestCase
    return unittest.TestSuite(
        load(type(kind.__name__, (_Store, suite), {'kind': kind}))
        for suite in suites
    )


def laws(tests: unittest.TestSuite) -> set[str]:
    """Return the names of the laws in suites."""
    return {_name(test) for suite in tests for test in suite}


def _name(test: unittest.TestCase) -> str:
    return test.id().rpartition('.test_')[2]


class _Case(unittest.TestCase):
    """Runs the suites for a backend that is broken on purpose."""

    suites: ClassVar[Sequence[type[backend_case.BackendCase]]] = ALL

    def check(self, all_of_them: Mapping[Kind, str], at_once: int = 1) -> None:
        broken.Hangs.released = threading.Event()
        self.addCleanup(broken.Hangs.released.set)
        with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
            found = list(threads.map(self.failures, all_of_them))
        for (kind, expected), failed in zip(
            all_of_them.items(), found, strict=True
        ):
            with self.subTest(kind.__name__):
                self.assertEqual(
                    sorted(expected.split()),
                    sorted(failed),
                    '\n'.join(failed.values()),
                )

    def failures(self, kind: Kind) -> dict[str, str]:
        """Run the suites; say which laws failed and how."""
        found = unittest.TestResult()
        tests_of(kind, self.suites).run(found)
        failed = [*found.failures, *found.errors]
        return {_name(test): text for test, text in failed}


class TestMemberLaws(_Case):
    def test_sound_backend_passes(self) -> None:
        self.check({broken.Broken: ''})

    def test_backend_that_breaks_a_law_fails_there(self) -> None:
        self.check(MEMBERS)

    def test_each_law_is_broken_by_somebody(self) -> None:
        texts = [*MEMBERS.values(), *PROCESSES.values(), *OUTAGES.values()]
        self.assertEqual(
            laws(tests_of(broken.Broken, ALL)), set(' '.join(texts).split())
        )


class TestProcessLaws(_Case):
    def test_backend_that_breaks_a_law_fails_there(self) -> None:
        self.check(PROCESSES)


class TestOutageLaws(_Case):
    def test_backend_that_breaks_a_law_fails_there(self) -> None:
        self.check(OUTAGES)


class TestWatchLaws(_Case):
    suites = WATCH

    def test_sound_backend_passes(self) -> None:
        self.check({broken.Broken: ''})

    def test_backend_that_breaks_a_law_fails_there(self) -> None:
        # They only wait, and share nothing that a law changes.
        self.check(WATCHES, at_once=len(WATCHES))

    def test_each_law_is_broken_by_somebody(self) -> None:
        self.assertEqual(
            laws(tests_of(broken.Broken, WATCH)),
            set(' '.join(WATCHES.values()).split()),
        )
