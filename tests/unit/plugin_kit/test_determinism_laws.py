"""A policy that depends on more than its arguments breaks one law."""

from __future__ import annotations

import unittest
from collections.abc import Sequence

from ironic_ownership.contracts import policy as contract
from tests.unit.plugin_kit import broken_determinism as broken
from tests.unit.plugin_kit import test_policy_suite

BROKEN: Sequence[tuple[type[contract.Policy], str]] = (
    (broken.CountsCalls, 'no_state_is_kept_between_calls'),
    (broken.CountsInGlobal, 'no_state_is_kept_between_calls'),
    (broken.CountsInIterator, 'no_state_is_kept_between_calls'),
    (broken.CollectsInDefault, 'no_state_is_kept_between_calls'),
    (broken.RemembersNodes, 'same_question_gets_the_same_answer'),
    (broken.RemembersOwnersInGlobal, 'every_process_gives_the_same_answers'),
    (broken.ReadsLocalTime, 'nothing_is_read_written_or_waited_for'),
    (broken.FormatsTheTime, 'nothing_is_read_written_or_waited_for'),
    (broken.AsksUname, 'nothing_is_read_written_or_waited_for'),
    (broken.AsksPlatform, 'nothing_is_read_written_or_waited_for'),
    (broken.KnowsItsPython, 'every_process_gives_the_same_answers'),
    (broken.ReadsEnvironment, 'nothing_is_read_written_or_waited_for'),
    (broken.AsksForCpus, 'nothing_is_read_written_or_waited_for'),
    (broken.Logarithm, 'nothing_is_read_written_or_waited_for'),
    (broken.Power, 'nothing_is_read_written_or_waited_for'),
    (broken.OwnLock, 'nothing_is_read_written_or_waited_for'),
    (broken.GlobalLock, 'nothing_is_read_written_or_waited_for'),
    (broken.ReadsExtra, 'only_requested_fields_are_read'),
    (broken.DependsOnPower, 'states_that_change_by_themselves_mean_nothing'),
    (
        broken.DependsOnCleaning,
        'states_that_change_by_themselves_mean_nothing',
    ),
    (
        broken.DependsOnReservation,
        'states_that_change_by_themselves_mean_nothing',
    ),
    (broken.DropsOption, 'settings_build_the_same_policy_again'),
    (
        broken.UnsortedList,
        'lists_without_an_order_are_advertised_in_one_order',
    ),
    (
        broken.UnsortedListByDefault,
        'lists_without_an_order_are_advertised_in_one_order',
    ),
    (
        broken.FirstTwenty,
        'shares_depend_on_no_number_and_no_names_of_members',
    ),
    (broken.LongNames, 'shares_depend_on_no_number_and_no_names_of_members'),
    (broken.OrderBeyondTwenty, 'order_of_the_members_means_nothing'),
)


class TestDeterminism(unittest.TestCase):
    def test_what_is_allowed_breaks_no_law(self) -> None:
        for target in (broken.KeepsCaches, broken.KeepsOrder):
            suite = test_policy_suite.suite_of(target)
            self.assertEqual({}, test_policy_suite.failed_laws(suite))


def _add(target: type[contract.Policy], law: str) -> None:
    """Add a test of its own, so that runners can name them."""

    def test(self: TestDeterminism) -> None:
        message = test_policy_suite.broken_law(target, law)
        self.assertTrue(message)
        # One line, with the first difference.
        self.assertLess(len(message), 1000, message)

    setattr(TestDeterminism, f'test_{target.__name__}_breaks_{law}', test)


for _target, _law in BROKEN:
    _add(_target, _law)
