"""Each law of the policy suites fails for the policy that breaks it."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import policy as contract
from ironic_ownership_plugin_kit import policy, policy_laws
from tests.unit.plugin_kit import broken_policies as broken

BROKEN: Sequence[tuple[type[contract.Policy], str]] = (
    (broken.NewerContract, 'class_is_one_that_a_host_loads'),
    (broken.NoHelp, 'every_option_has_a_help'),
    (broken.TellsSecret, 'settings_can_be_advertised_and_are_no_secrets'),
    (
        broken.TellsSecretByAnotherName,
        'settings_can_be_advertised_and_are_no_secrets',
    ),
    (
        broken.AdvertisesTooMuch,
        'settings_can_be_advertised_and_are_no_secrets',
    ),
    (
        broken.AdvertisesObjects,
        'settings_can_be_advertised_and_are_no_secrets',
    ),
    (broken.AdvertisesLess, 'settings_build_the_same_policy_again'),
    (broken.AdvertisesRaw, 'settings_build_the_same_policy_again'),
    (broken.RemarksText, 'remarks_are_lines'),
    (broken.RefusesWithoutWords, 'host_is_accepted_or_refused_with_a_message'),
    (broken.AssumesTypes, 'every_node_gets_an_answer'),
    (broken.Remembers, 'same_question_gets_the_same_answer'),
    (broken.RoundRobin, 'order_of_the_nodes_means_nothing'),
    (broken.ChangesNodes, 'nodes_are_left_as_they_are'),
    (broken.ChangesSettings, 'given_settings_are_left_as_they_are'),
    (broken.HashesText, 'every_process_gives_the_same_answers'),
    (broken.OrdersByHash, 'every_process_gives_the_same_answers'),
    (broken.KnowsWhereItIs, 'every_process_gives_the_same_answers'),
    (broken.SharesState, 'threads_can_share_one_instance'),
    (broken.ReadsFile, 'nothing_is_read_written_or_waited_for'),
    (broken.ReadsFileOnce, 'nothing_is_read_written_or_waited_for'),
    (broken.Listens, 'nothing_is_read_written_or_waited_for'),
    (broken.ReadsTheClock, 'nothing_is_read_written_or_waited_for'),
    (broken.ReadsTheDate, 'nothing_is_read_written_or_waited_for'),
    (broken.Sleeps, 'nothing_is_read_written_or_waited_for'),
    (broken.Runs, 'nothing_is_read_written_or_waited_for'),
    (broken.AnswersNothing, 'answers_are_true_or_false'),
    (broken.ScopeOfText, 'scope_is_one_and_stays_the_same'),
    (broken.ScopeWanders, 'scope_is_one_and_stays_the_same'),
    (broken.AdmitsOutOfScope, 'admitted_nodes_are_in_the_scope'),
    (broken.NamesStranger, 'every_owner_is_a_live_member_or_none'),
    (broken.NamesDead, 'every_owner_is_a_live_member_or_none'),
    (broken.FirstMember, 'order_of_the_members_means_nothing'),
    (broken.FirstCandidate, 'order_of_the_members_means_nothing'),
    (broken.PeersList, 'peers_are_hosts_and_include_the_host_itself'),
    (broken.PeersWithoutSelf, 'peers_are_hosts_and_include_the_host_itself'),
    (broken.Balances, 'answers_node_by_node_need_no_other_nodes'),
    (broken.MovesAll, 'no_more_nodes_move_than_declared'),
    (broken.NeverSettles, 'own_answers_as_the_owners_change_nothing'),
    (broken.SharesOfFew, 'expected_shares_name_every_member'),
    (broken.MovesMoreThanDeclared, 'no_more_nodes_move_than_declared'),
)


def suite_of(
    target: type[contract.Policy],
) -> type[policy_laws.PolicyContract]:
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
    def check(self, target: type[contract.Policy], *laws: str) -> None:
        self.assertEqual({*laws}, {*failed_laws(suite_of(target))})

    def test_good_filter_breaks_none(self) -> None:
        self.check(broken.GoodFilter)

    def test_good_assigner_breaks_none(self) -> None:
        self.check(broken.GoodAssigner)

    def test_late_imports_break_none(self) -> None:
        self.check(broken.ImportsLate)

    def test_declared_movement_breaks_none(self) -> None:
        self.check(broken.MovesAsDeclared)

    def test_every_law_has_a_policy_that_breaks_it(self) -> None:
        from tests.unit.plugin_kit import test_determinism_laws

        laws = {
            name.removeprefix('test_')
            for suite in (
                policy.FilterPolicyContract,
                policy.AssignerPolicyContract,
            )
            for name in unittest.TestLoader().getTestCaseNames(suite)
        }
        broken_laws = {
            law for _, law in (*BROKEN, *test_determinism_laws.BROKEN)
        }
        reports = {'speed_is_reported', 'members_differ_in_their_values'}
        self.assertEqual(laws - reports, broken_laws)

    def test_nodes_have_extra_only_for_policies_that_request_it(
        self,
    ) -> None:
        for target, given in (
            (broken.GoodFilter, False),
            (broken.AsksForExtra, True),
        ):
            case = suite_of(target)('test_remarks_are_lines')
            nodes = case.samples(case.build({}))
            self.assertEqual({given}, {bool(node.extra) for node in nodes})

    def test_speed_and_share_are_reported(self) -> None:
        noted: list[str] = []

        class Suite(policy.FilterPolicyContract):
            policy_class = broken.GoodFilter
            timed_nodes = 100

            def note(self, text: str) -> None:
                noted.append(text)

        self.assertEqual({}, failed_laws(Suite))
        self.assertEqual(2, len(noted), noted)
        self.assertRegex(
            noted[1], r'^\d+\.\d\d s of processor time per 100,000 nodes$'
        )
        self.assertRegex(noted[0], r'^admits \d+ of \d+ sample nodes$')


def _add(target: type[contract.Policy], law: str) -> None:
    """Add a test of its own, so that runners can spread them."""

    def test(self: TestLaws) -> None:
        self.assertTrue(broken_law(target, law))

    setattr(TestLaws, f'test_{target.__name__}_breaks_{law}', test)


for _target, _law in BROKEN:
    _add(_target, _law)
