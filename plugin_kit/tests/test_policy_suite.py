"""Each law of the policy suites fails for the policy that breaks it."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from unittest import mock

from ironic_ownership.contracts import policy as contract
from ironic_ownership_plugin_kit import policy
from tests import broken_determinism as determinism
from tests import broken_policies as broken
from tests import planted_faults as planted

BROKEN: Mapping[str, Mapping[type[contract.Policy], str]] = {
    'class_is_one_that_a_host_loads': {
        broken.NoHelp: 'has no help',
        broken.NewerContract: '',
    },
    'settings_can_be_advertised_and_are_no_secrets': {
        broken.TellsSecret: '',
        broken.TellsSecretByAnotherName: '',
        broken.AdvertisesTooMuch: '',
        broken.AdvertisesObjects: '',
    },
    'settings_build_the_same_policy_again': {
        broken.AdvertisesLess: '',
        broken.AdvertisesRaw: '',
        determinism.DropsOption: '',
    },
    'remarks_are_lines': {broken.RemarksText: ''},
    'host_is_accepted_or_refused_with_a_message': {
        broken.RefusesWithoutWords: ''
    },
    'every_node_gets_an_answer': {
        broken.AnswersLess: '',
        broken.AssumesTypes: '',
        planted.FailsForItsClass: 'no h100',
        planted.FailsForItsHall: 'no hall',
        planted.EncodesNames: 'UnicodeEncodeError',
        planted.NeedsWeights: 'KeyError',
        planted.DividesByWeights: 'ZeroDivisionError',
        planted.FailsByWeights: 'weights differ',
    },
    'same_question_gets_the_same_answer': {
        broken.Remembers: '',
        determinism.RemembersNodes: '',
    },
    'order_of_the_nodes_means_nothing': {broken.RoundRobin: ''},
    'nodes_are_left_as_they_are': {broken.ChangesNodes: ''},
    'given_settings_are_left_as_they_are': {broken.ChangesSettings: ''},
    'every_process_gives_the_same_answers': {
        broken.OrdersByHash: '',
        determinism.RemembersOwnersInGlobal: '',
        planted.HashesByWeights: 'another process',
    },
    'threads_can_share_one_instance': {broken.SharesState: ''},
    'nothing_is_read_written_or_waited_for': {
        broken.ReadsFileOnce: '',
        broken.Sleeps: '',
        broken.Runs: '',
        determinism.Logarithm: '',
        determinism.OwnLock: '',
        determinism.GlobalLock: '',
    },
    'answers_are_true_or_false': {broken.AnswersNothing: ''},
    'scope_is_one_and_stays_the_same': {
        broken.ScopeOfText: '',
        broken.ScopeWanders: '',
    },
    'admitted_nodes_are_in_the_scope': {broken.AdmitsOutOfScope: ''},
    'every_owner_is_a_live_member_or_none': {
        broken.NamesStranger: '',
        broken.NamesDead: '',
        planted.LongReason: 'as a reason',
        planted.TextOfItsOwn: 'which is not a host',
        planted.NamesStrangerByWeights: 'stranger',
    },
    'order_of_the_members_means_nothing': {
        broken.FirstMember: '',
        broken.FirstCandidate: '',
        determinism.OrderBeyondTwenty: '',
        planted.OrderOfADozen: 'node',
    },
    'peers_are_hosts_and_include_the_host_itself': {
        broken.PeersList: '',
        broken.PeersWithoutSelf: '',
        planted.OneSided: 'does not name',
    },
    'answers_node_by_node_need_no_other_nodes': {broken.Balances: ''},
    'no_more_nodes_move_than_declared': {
        broken.MovesAll: '',
        broken.MovesMoreThanDeclared: '',
        planted.MovesWhenOneJoins: 'joins',
    },
    'own_answers_as_the_owners_change_nothing': {broken.NeverSettles: ''},
    'expected_shares_name_every_member': {broken.SharesOfFew: ''},
    'no_state_is_kept_between_calls': {
        determinism.CountsCalls: '',
        determinism.CountsInGlobal: '',
        determinism.CountsInIterator: '',
        determinism.CollectsInDefault: '',
        planted.CountsInFunction: 'attribute of',
        planted.CountsInClosure: 'variable of',
        planted.CountsInModule: 'planted_helper.calls',
        planted.CountsInBytes: 'self.calls',
        planted.CountsInArray: 'CountsInArray.calls',
        planted.CountsInNamespace: 'CountsInNamespace.state',
        planted.CountsInThread: '_LOCAL',
        planted.CountsInContext: '_VARIABLE',
        planted.TakesTurns: 'iterator in TakesTurns.turns',
        planted.Generates: 'iterator in self.numbers',
        planted.Registers: '_INSTANCES',
        planted.KnowsItsHost: 'self.host',
    },
    'only_requested_fields_are_read': {
        planted.ReadsOtherField: "fields['lessee'] of node"
    },
    'states_that_change_by_themselves_mean_nothing': {
        planted.DependsOnError: 'last_error'
    },
    'lists_without_an_order_are_advertised_in_one_order': {
        determinism.UnsortedList: 'sort it',
        determinism.UnsortedListByDefault: 'sort it',
        planted.KeepsWhatComesTwice: 'drop what comes twice',
    },
    'shares_depend_on_no_number_and_no_names_of_members': {
        determinism.LongNames: '',
        planted.FirstHundred: 'among 150 members',
        planted.FewSlots: 'among 64 members',
        planted.OneByte: 'members',
    },
    'speed_is_reported': {planted.ComparesAll: 'grows'},
}
"""Words of the message, by law and by the policy that breaks it."""


def suite_of(target: type[contract.Policy]) -> type[policy.PolicyContract]:
    """Return the suite for one policy, without notes for its author."""
    found: dict[str, object] = {
        'policy_class': target,
        'note': lambda self, text: None,
        'timed_nodes': 100,
        'time_limit': 120.0,
    }
    if issubclass(target, contract.FilterPolicy):
        found['settings'] = ({}, {'classes': ('large', 'gpu')})
        return type('Suite', (policy.FilterPolicyContract,), found)
    return type('Suite', (policy.AssignerPolicyContract,), found)


class _Messages(unittest.TestResult):
    """Keeps the message of each failure, without the traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: dict[str, str] = {}

    def addFailure(self, test, err) -> None:
        law = test.id().rpartition('.test_')[2]
        self.messages[law] = str(err[1])

    addError = addFailure  # noqa: N815 - of unittest


def failed_laws(suite: type[unittest.TestCase]) -> Mapping[str, str]:
    """Run a suite and return why laws are broken, by law."""
    result = _Messages()
    unittest.TestLoader().loadTestsFromTestCase(suite).run(result)
    return result.messages


def broken_law(target: type[contract.Policy], law: str) -> str:
    """Return why one law is broken; empty if it is not."""
    result = _Messages()
    unittest.TestSuite([suite_of(target)(f'test_{law}')]).run(result)
    return result.messages.get(law, '')


class TestLaws(unittest.TestCase):
    def test_sound_policies_break_none(self) -> None:
        for target in (broken.GoodFilter, broken.MovesAsDeclared):
            self.assertEqual({}, failed_laws(suite_of(target)), target)
        for target, law in (
            (broken.ImportsLate, 'nothing_is_read_written_or_waited_for'),
            (broken.ReadsMap, 'settings_build_the_same_policy_again'),
            (broken.WeighsByMap, 'every_node_gets_an_answer'),
            (planted.ReadsRequestedField, 'only_requested_fields_are_read'),
            (determinism.KeepsCaches, 'no_state_is_kept_between_calls'),
            (determinism.KeepsCaches, 'threads_can_share_one_instance'),
            (
                determinism.KeepsOrder,
                'lists_without_an_order_are_advertised_in_one_order',
            ),
        ):
            self.assertEqual('', broken_law(target, law), target)

    def test_slow_moment_of_the_machine_is_no_property_of_a_policy(
        self,
    ) -> None:
        for slow in (2, 3):
            suite = suite_of(broken.GoodFilter)
            suite._seconds = mock.Mock(
                side_effect=[(900.0, 1.9)] * slow + [(1.0, 1.0)]
            )
            result = _Messages()
            unittest.TestSuite([suite('test_speed_is_reported')]).run(result)
            self.assertEqual(slow == 3, 'speed_is_reported' in result.messages)

    def test_every_law_has_a_policy_that_breaks_it(self) -> None:
        laws = {
            name.removeprefix('test_')
            for suite in (
                policy.FilterPolicyContract,
                policy.AssignerPolicyContract,
            )
            for name in unittest.TestLoader().getTestCaseNames(suite)
        }
        # It only reports the values.
        self.assertEqual(
            laws - {'members_differ_in_their_values'},
            {*BROKEN, *planted.PLANTED},
        )

    def test_nodes_have_extra_only_for_policies_that_request_it(self) -> None:
        for target, given in (
            (broken.GoodFilter, False),
            (broken.AsksForExtra, True),
        ):
            case = suite_of(target)('test_remarks_are_lines')
            nodes = case.samples(case.build({}))
            self.assertEqual({given}, {bool(node.extra) for node in nodes})


def _add(target: type[contract.Policy], law: str, words: str) -> None:
    """Add a test of its own, so that runners can name and spread them."""

    def test(self: TestLaws) -> None:
        message = broken_law(target, law)
        self.assertTrue(message)
        self.assertIn(words, message)
        # One line, with the first difference.
        self.assertLess(len(message), 1000)

    setattr(TestLaws, f'test_{target.__name__}_breaks_{law}', test)


for _law, _policies in (*BROKEN.items(), *planted.PLANTED.items()):
    for _target, _words in _policies.items():
        _add(_target, _law, _words)
