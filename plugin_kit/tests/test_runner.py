from __future__ import annotations

import contextlib
import dataclasses
import unittest
import unittest.mock
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership_plugin_kit import backend_case, fakes, policy, runner
from tests import broken_determinism as determinism
from tests import broken_policies as broken
from tests import planted_faults as planted

PATIENCE = 180.0
"""Seconds that a busy machine may take for what ends by itself."""

LIMIT = 4.0
"""Seconds after which a law that hangs is interrupted: it has to hang by
then."""

_ASKS = 'test_every_node_gets_an_answer'
_REMARKS = 'test_remarks_are_lines'
_SCOPED = 'test_admitted_nodes_are_in_the_scope'
_DIFFER = 'test_members_differ_in_their_values'


def _only(laws: Sequence[str]) -> contextlib.AbstractContextManager[object]:
    """Have only some laws checked, where a policy has them; or all."""
    names = unittest.TestLoader.getTestCaseNames

    def chosen(loader: unittest.TestLoader, suite: type) -> Sequence[str]:
        return [n for n in names(loader, suite) if not laws or n in laws]

    return unittest.mock.patch.object(
        unittest.TestLoader, 'getTestCaseNames', chosen
    )


class _Stored(memory.MemoryBackend):
    """Instances share a store with the clock of the test."""

    clock = fakes.FakeClock()
    store = memory.MemoryStore(clock)

    def __init__(self, settings, *, member_ttl, call_timeout) -> None:
        super().__init__(
            settings,
            member_ttl=member_ttl,
            call_timeout=call_timeout,
            store=self.store,
        )


class _NeverExpires(_Stored):
    """Never lets a member expire: only leaving ends it."""

    def __init__(self, settings, *, member_ttl, call_timeout) -> None:
        super().__init__(
            settings, member_ttl=10_000_000, call_timeout=call_timeout
        )


class _Watched(_Stored, fakes.WatchedMemoryBackend):
    """Notifies of changes."""


class _Busy(_Watched):
    """Takes longer than the first wait may take."""

    _answers = False

    def watch(self, timeout):
        if self._answers:
            return super().watch(timeout)
        self._answers = True
        raise exceptions.BackendUnavailableError('no answer in time')


class _Watchless(_Watched):
    """Declares to notify of changes, and never does."""

    def watch(self, timeout):
        return False


class _Clockless(_Stored):
    def view(self):
        raise exceptions.BackendUnavailableError('no such store')


class TestBackends(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        _Stored.store.rows.clear()

    def findings(
        self, target: type[_Stored], heard: list[str] | None = None
    ) -> Sequence[runner.Finding]:
        return [
            *runner.check_backend(
                target,
                {},
                20.0,
                (heard if heard is not None else []).append,
                sleep=_Stored.clock.elapse,
            )
        ]

    def test_good_backend_keeps_every_law_and_leaves_no_member(self) -> None:
        heard: list[str] = []
        found = self.findings(_Stored, heard)
        self.assertEqual([], [f for f in found if not f.passed])
        self.assertGreater(len(found), 20)
        self.assertEqual(heard, [f.law for f in found])
        self.assertIn('expired member is not in view', heard)
        self.assertEqual((), _view().members)

    def test_backend_that_notifies_keeps_the_laws_of_watches(self) -> None:
        for backend in (_Watched, _Busy):
            found = {f.law: f for f in self.findings(backend)}
            self.assertEqual([], [f for f in found.values() if not f.passed])
        self.assertIn('join ends a wait', found)
        self.assertIn('expiry ends a wait', found)
        # Needs an outage, which only its author can make.
        self.assertNotIn('wait during an outage ends in time', found)

    def test_backend_that_never_notifies_breaks_them(self) -> None:
        with unittest.mock.patch.object(
            backend_case.BackendCase, 'patience', 0.3
        ):
            found = {f.law: f for f in self.findings(_Watchless)}
        self.assertIn('not notified', found['join ends a wait'].detail)
        self.assertIn('not notified', found['expiry ends a wait'].detail)
        self.assertTrue(found['expired member is not in view'].passed)

    def test_broken_backend_breaks_the_laws_in_question(self) -> None:
        broken_laws = {
            f.law for f in self.findings(_NeverExpires) if not f.passed
        }
        self.assertIn('expired member is not in view', broken_laws)
        self.assertNotIn(
            'members are ordered by host not by arrival', broken_laws
        )
        self.assertEqual((), _view().members)

    def test_store_with_members_is_refused_and_left_alone(self) -> None:
        member = _Stored({}, member_ttl=100, call_timeout=5)
        member.join('compute1', 'one', model.MemberSettings())
        before = _view()
        with self.assertRaisesRegex(exceptions.MembershipError, 'compute1'):
            self.findings(_Stored)
        self.assertEqual(before, _view())

    def test_instances_on_stores_of_their_own_are_refused(self) -> None:
        with self.assertRaisesRegex(
            exceptions.MembershipError, 'do not see each other'
        ):
            [*runner.check_backend(memory.MemoryBackend, {}, 20.0)]

    def test_store_that_does_not_answer_is_an_error(self) -> None:
        with self.assertRaises(exceptions.BackendUnavailableError):
            self.findings(_Clockless)


def _view() -> model.View:
    return _Stored({}, member_ttl=100, call_timeout=5).view()


class TestPolicies(unittest.TestCase):
    def findings(
        self,
        target: type,
        settings: Mapping[str, model.Value] | None = None,
        laws: Sequence[str] = (_ASKS, _DIFFER, _SCOPED),
        **given: Any,
    ) -> dict[str, runner.Finding]:
        """Check some laws, or all, and return what was found by law."""
        with (
            unittest.mock.patch.object(
                policy.PolicyContract, 'timed_nodes', 100
            ),
            _only(laws),
        ):
            found = runner.check_policy(target, settings or {}, **given)
            return {finding.law: finding for finding in found}

    def test_speed_and_shares_are_details(self) -> None:
        found = self.findings(broken.GoodFilter, laws=())
        self.assertTrue(all(f.passed for f in found.values()))
        self.assertRegex(
            found['speed is reported'].detail,
            r'^\d+\.\d\d s of processor time per 100,000 nodes$',
        )
        self.assertRegex(
            found['admitted nodes are in the scope'].detail,
            r'^admits \d+ of \d+ sample nodes$',
        )

    def test_failure_says_why_in_one_line(self) -> None:
        found = self.findings(broken.NamesStranger, laws=())
        failed = [f for f in found.values() if not f.passed]
        self.assertEqual(
            ['every owner is a live member or none'], [f.law for f in failed]
        )
        self.assertIn("'stranger'", failed[0].detail)
        self.assertNotIn('\n', failed[0].detail)

    def test_given_options_are_used(self) -> None:
        found = self.findings(broken.GoodFilter, {'classes': ('nosuch',)})
        self.assertIn(
            'admits 0 of', found['admitted nodes are in the scope'].detail
        )

    def test_given_value_of_a_member_is_one_of_several(self) -> None:
        found = self.findings(planted.FailsByWeights, {'weight': 100})
        law = found['every node gets an answer']
        self.assertIn('weights differ', law.detail)
        self.assertEqual(
            'weight: 100, 99', found['members differ in their values'].detail
        )

    def test_values_that_are_not_derived_can_be_given(self) -> None:
        law = 'members differ in their values'
        derived = self.findings(planted.FailsByZones)
        self.assertTrue(derived['every node gets an answer'].passed)
        self.assertTrue(derived[law].result == 'skipped')
        self.assertIn('zone', derived[law].detail)
        given = self.findings(
            planted.FailsByZones, peer_values={'zone': ('hall-2',)}
        )
        self.assertIn(
            'zones differ', given['every node gets an answer'].detail
        )
        self.assertEqual("zone: 'hall-1', 'hall-2'", given[law].detail)

    def test_given_value_that_a_host_refuses_is_a_failure(self) -> None:
        found = self.findings(
            planted.RefusesZone, peer_values={'zone': ('hall-9',)}
        )
        law = found['members differ in their values']
        self.assertFalse(law.passed)
        self.assertIn('hall-9 is closed', law.detail)

    def test_every_node_of_a_deployment_is_asked_about(self) -> None:
        nodes = [
            model.Node(f'00000000-0000-4000-8000-{number:012d}')
            for number in range(1000)
        ]
        nodes[777] = dataclasses.replace(nodes[777], name='one of a kind')
        for target in (planted.FailsForFleetByWeights, _Picky):
            found = self.findings(target, laws=(_ASKS,), fleet=nodes)
            self.assertIn(
                nodes[777].uuid, found['every node gets an answer'].detail
            )

    def test_policy_that_raises_when_built_breaks_laws_and_not_the_check(
        self,
    ) -> None:
        found = self.findings(_Fails, laws=())
        failed = {law for law, f in found.items() if not f.passed}
        self.assertIn('every node gets an answer', failed)
        self.assertNotIn('class is one that a host loads', failed)


class _Fails(broken.GoodFilter):
    def __init__(self, settings):
        raise LookupError('its own mistake')


class TestTimeLimit(unittest.TestCase):
    """A law that never ends is broken, and the other laws are checked."""

    def findings(
        self,
        target: type,
        endless: Collection[str] = (_ASKS,),
        grace: float = PATIENCE,
    ) -> dict[str, runner.Finding]:
        """Check some laws, and return what was found by law.

        :param endless: methods of the laws that hang. Only these have little
            time: the others end by themselves, if late on a busy machine.
        :param grace: seconds until a process is killed. On a busy machine
            one that was interrupted may take long to say so.
        """
        run = runner.in_process

        def run_for(work, seconds, failed):
            _, law = work.args
            if law.id().rpartition('.')[2] not in endless:
                seconds = law.time_limit = PATIENCE
            return run(work, seconds, failed)

        with (
            unittest.mock.patch.object(runner, '_GRACE', grace),
            unittest.mock.patch.object(runner, 'in_process', run_for),
            _only(('test_class_is_one_that_a_host_loads', _ASKS, _REMARKS)),
        ):
            found = [*runner.check_policy(target, {}, time_limit=LIMIT)]
        return {finding.law: finding for finding in found}

    def test_endless_call_is_interrupted_and_its_place_is_named(self) -> None:
        found = self.findings(determinism.Hangs)
        self.assertRegex(
            found['every node gets an answer'].detail,
            r'^Hangs still runs after 4 s, in Hangs\.admits at /.*\.py:\d+$',
        )
        self.assertTrue(found['class is one that a host loads'].passed)
        self.assertTrue(found['remarks are lines'].passed)

    def test_endless_constructor_is_interrupted(self) -> None:
        found = self.findings(
            determinism.HangsWhenBuilt, endless=(_ASKS, _REMARKS)
        )
        self.assertIn(
            'HangsWhenBuilt.__init__', found['remarks are lines'].detail
        )
        self.assertTrue(found['class is one that a host loads'].passed)

    def test_code_that_catches_everything_is_killed(self) -> None:
        found = self.findings(determinism.HangsForGood, grace=1.0)
        self.assertIn('killed', found['every node gets an answer'].detail)
        self.assertTrue(found['remarks are lines'].passed)

    def test_process_that_ends_breaks_the_law_and_not_the_check(self) -> None:
        found = self.findings(determinism.EndsTheProcess, endless=())
        self.assertIn(
            'ended its process, with exit code 0',
            found['every node gets an answer'].detail,
        )
        self.assertTrue(found['remarks are lines'].passed)


class _Picky(broken.GoodFilter):
    def admits(self, node):
        if str(node.name)[::-1] == 'dnik a fo eno':
            raise LookupError('no such name')
        return super().admits(node)
