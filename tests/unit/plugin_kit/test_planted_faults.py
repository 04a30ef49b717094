"""Each planted fault breaks the law that its author should hear of."""

from __future__ import annotations

import unittest
from collections.abc import Sequence

from ironic_ownership.contracts import policy as contract
from tests.unit.plugin_kit import planted_faults as planted
from tests.unit.plugin_kit import test_policy_suite

_STATE = 'no_state_is_kept_between_calls'
_OUTSIDE = 'nothing_is_read_written_or_waited_for'
_FIELDS = 'only_requested_fields_are_read'
_STATES = 'states_that_change_by_themselves_mean_nothing'
_ANSWERS = 'every_node_gets_an_answer'
_OWNERS = 'every_owner_is_a_live_member_or_none'
_SHARES = 'shares_depend_on_no_number_and_no_names_of_members'

PLANTED: Sequence[tuple[type[contract.Policy], str, str]] = (
    (planted.CountsInFunction, _STATE, 'attribute of'),
    (planted.CountsInClosure, _STATE, 'variable of'),
    (planted.CountsInModule, _STATE, 'planted_helper.calls'),
    (planted.CountsInBytes, _STATE, 'self.calls'),
    (planted.CountsInArray, _STATE, 'CountsInArray.calls'),
    (planted.CountsInNamespace, _STATE, 'CountsInNamespace.state'),
    (planted.CountsInThread, _STATE, '_LOCAL'),
    (planted.CountsInContext, _STATE, '_VARIABLE'),
    (planted.TakesTurns, _STATE, 'iterator in TakesTurns.turns'),
    (planted.Generates, _STATE, 'iterator in self.numbers'),
    (planted.Registers, _STATE, '_INSTANCES'),
    (planted.KnowsItsHost, _STATE, 'self.host'),
    (planted.ReadsOtherClock, _OUTSIDE, 'clock_gettime_ns()'),
    (planted.AsksForAffinity, _OUTSIDE, 'sched_getaffinity()'),
    (planted.NamesItsThread, _OUTSIDE, 'current_thread()'),
    (planted.LooksForFile, _OUTSIDE, 'stat()'),
    (planted.MakesNumbers, _OUTSIDE, 'without a seed'),
    (planted.AsksForAddress, _OUTSIDE, 'getnode()'),
    (planted.WaitsInQueue, _OUTSIDE, 'SimpleQueue.empty()'),
    (planted.LocksInModule, _OUTSIDE, 'lock in'),
    (planted.ComparesExtra, _FIELDS, 'extra of node'),
    (planted.PrintsExtra, _FIELDS, 'with extra'),
    (planted.ReadsOtherField, _FIELDS, "fields['lessee'] of node"),
    (planted.DependsOnTarget, _STATES, 'target_provision_state deleted'),
    (planted.DependsOnRescue, _STATES, 'provision_state rescuing'),
    (planted.DependsOnInstance, _STATES, 'instance_uuid'),
    (planted.DependsOnError, _STATES, 'last_error'),
    (planted.DependsOnPowerError, _STATES, 'power_state error'),
    (
        planted.KeepsWhatComesTwice,
        'lists_without_an_order_are_advertised_in_one_order',
        'drop what comes twice',
    ),
    (planted.FailsForItsClass, _ANSWERS, 'no h100'),
    (planted.FailsForItsHall, _ANSWERS, 'no hall'),
    (planted.EncodesNames, _ANSWERS, 'UnicodeEncodeError'),
    (planted.NeedsWeights, _ANSWERS, 'KeyError'),
    (planted.DividesByWeights, _ANSWERS, 'ZeroDivisionError'),
    (planted.LongReason, _OWNERS, 'as a reason'),
    (planted.TextOfItsOwn, _OWNERS, 'which is no host'),
    (planted.OrderOfADozen, 'order_of_the_members_means_nothing', 'node'),
    (
        planted.OneSided,
        'peers_are_hosts_and_include_the_host_itself',
        'does not name',
    ),
    (
        planted.MovesWhenOneJoins,
        'no_more_nodes_move_than_declared',
        'joins',
    ),
    (planted.ComparesAll, 'speed_is_reported', 'grows'),
    (planted.FirstHundred, _SHARES, 'among 150 members'),
    (planted.FewSlots, _SHARES, 'among 64 members'),
    (planted.OneByte, _SHARES, 'members'),
    (planted.FailsByWeights, 'every_node_gets_an_answer', 'weights differ'),
    (
        planted.NamesStrangerByWeights,
        'every_owner_is_a_live_member_or_none',
        'stranger',
    ),
    (
        planted.HashesByWeights,
        'every_process_gives_the_same_answers',
        'another process',
    ),
)


class TestPlantedFaults(unittest.TestCase):
    def test_requested_field_is_set_as_by_a_host(self) -> None:
        suite = test_policy_suite.suite_of(planted.ReadsRequestedField)
        self.assertEqual({}, test_policy_suite.failed_laws(suite))


def _add(target: type[contract.Policy], law: str, words: str) -> None:
    """Add a test of its own, so that runners can name and spread them."""

    def test(self: TestPlantedFaults) -> None:
        message = test_policy_suite.broken_law(target, law)
        self.assertIn(words, message)
        self.assertLess(len(message), 1000)

    setattr(TestPlantedFaults, f'test_{target.__name__}', test)


for _target, _law, _words in PLANTED:
    _add(_target, _law, _words)
