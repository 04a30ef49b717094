"""Answers of policies that break the contract, or that are code.

Code in an answer runs where its policy is named as the fault.
"""

from __future__ import annotations

import itertools
import signal
import unittest
from typing import Any

from ironic_ownership.contracts import (
    exceptions,
    model,
    plugin_validation,
    policy,
)
from ironic_ownership.contracts.calls import is_interrupt, note_interrupts
from ironic_ownership.contracts.reasons import Decision, Reason
from ironic_ownership.engine.decision import policy_set
from tests.unit.engine import world

PEERS = policy.Peer('host1'), policy.Peer('host2')
NODE = world.node(1, shard='a')


class _Text(str):
    """A text that exits when it is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise SystemExit(0)

    def __ne__(self, other: object) -> bool:
        raise SystemExit(0)

    def __hash__(self) -> int:
        raise SystemExit(0)


class _Once(str):
    """A text that exits when it is compared, and not when it is kept."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise SystemExit(0)

    def __hash__(self) -> int:
        return 5


class _Scope(model.Scope):
    def matches(self, shard: str | None, conductor_group: str) -> bool:
        raise SystemExit(0)


class _Alike:
    """An object like a scope that is not one."""

    shard = conductor_group = None
    nothing = False


class _Choice(policy.Choice):
    def __init__(self) -> None:
        """Keep nothing."""

    @property
    def host(self) -> str:  # type: ignore[override]
        raise SystemExit(0)


class _Endless(frozenset):  # type: ignore[type-arg]
    """A set that is never read to its end."""

    def __iter__(self):
        return itertools.repeat('host1')


class Filter(policy.FilterPolicy):
    contract_version = 2


class Asked(Filter):
    def admits(self, node):
        raise LookupError('its own mistake')


class Assigner(policy.AssignerPolicy):
    contract_version = 2

    def peers(self, host, candidates, scope):
        return frozenset()


class Older(Assigner):
    contract_version = 1

    def assign(self, nodes, hosts):
        return hosts


def answering(
    kind: type[policy.Policy], method: str, answer: Any
) -> policy_set.PolicySet:
    """Return a policy set with a policy that gives one answer."""

    def answered(self, *asked):
        return answer(*asked) if callable(answer) else answer

    one = type('Hostile', (kind,), {method: answered})({})
    return policy_set.PolicySet.of([one], lambda target: "policy 'x' of site")


class TestAnswers(unittest.TestCase):
    def ask(
        self, kind: type[policy.Policy], method: str, answer: Any
    ) -> object:
        chosen = answering(kind, method, answer)
        if issubclass(kind, policy.FilterPolicy):
            return chosen.admits(NODE)
        if method == 'peers':
            return chosen.peers('host1', ('host1', 'host2'))
        (found,) = chosen.choose([NODE], PEERS, {})
        return found

    def assert_fault(
        self, kind: type[policy.Policy], method: str, answer: Any, what: str
    ) -> None:
        with (
            self.subTest(method=method, what=what),
            self.assertRaises(exceptions.PluginFaultError) as caught,
        ):
            self.ask(kind, method, answer)
        for part in (f"policy 'x' of site: Hostile.{method} ", what):
            self.assertIn(part, str(caught.exception))

    def test_filter_answers_true_or_false_or_breaks_its_contract(self) -> None:
        for answer in (True, False):
            self.assertIs(answer, self.ask(Asked, 'admits', answer))
        for answer in (None, 1, 0, 'no', []):
            self.assert_fault(
                *(Asked, 'admits', answer),
                f'{answer!r} is neither True nor False',
            )
        self.assert_fault(
            Asked, 'admits', lambda node: {}['its own mistake'], 'KeyError'
        )

    def test_scope_is_one_of_plain_values(self) -> None:
        for answer, what in (
            (_Alike(), 'is not a Scope'),
            (model.Scope(shard=_Text('a')), 'a _Text in a Scope'),
            (model.Scope(conductor_group=_Once('a')), 'a _Once in a Scope'),
            (model.Scope(nothing=_Text('a')), 'a _Text in a Scope'),
        ):
            self.assert_fault(Filter, 'scope', answer, what)
        # One with code of its own is not asked.
        self.assertIs(True, self.ask(Filter, 'scope', _Scope('a')))
        # As Ironic has the groups of nodes.
        upper = answering(Filter, 'scope', model.Scope(conductor_group='G'))
        self.assertEqual(model.Scope(conductor_group='g'), upper.scope)

    def test_peers_are_a_set_of_names(self) -> None:
        for answer in (
            *(None, 'all', ['host2'], frozenset({1})),
            frozenset({_Once('host2')}),
        ):
            self.assert_fault(Assigner, 'peers', answer, 'not a set of hosts')
        # It is not asked for its members either.
        for answer in ({'host2'}, _Endless({'host2'})):
            self.assertEqual(
                {'host1', 'host2'}, self.ask(Assigner, 'peers', answer)
            )

    def test_owner_is_a_live_peer_with_a_short_reason(self) -> None:
        for answer, what in (
            ('host3', "named 'host3', which is not one of its live peers"),
            ('Host1', "named 'Host1'"),
            *((odd, 'which is not a host') for odd in (5, [], ['host1'])),
            *((odd('host1'), 'not a host') for odd in (_Text, _Once)),
            (_Choice(), 'SystemExit'),
            (policy.Choice('host3'), "named 'host3'"),
            (policy.Choice(_Once('host1')), 'not a host'),
            (policy.Choice('host1', _Once('x')), "gave 'x' as a reason"),
            (policy.Choice('host1', 'x' * 101), 'at most 100 characters'),
            (policy.Choice('host1', 5), 'gave 5 as a reason'),
        ):
            self.assert_fault(Assigner, 'choose', [answer], what)
        for answer, found in (
            (None, Decision(None, Reason.UNASSIGNED)),
            ('host2', Decision('host2', Reason.ASSIGNED)),
            (
                policy.Choice('host1', 'x' * 100),
                Decision('host1', Reason.ASSIGNED, note='x' * 100),
            ),
            # What cannot be encoded, or is no line, does not stay in it.
            (
                policy.Choice(None, 'a \udc80\nb'),
                Decision(None, Reason.UNASSIGNED, note='a ? b'),
            ),
        ):
            self.assertEqual(found, self.ask(Assigner, 'choose', [answer]))

    def test_every_node_gets_one_answer(self) -> None:
        for kind, method in ((Assigner, 'choose'), (Older, 'assign')):
            for answer, what in (
                ([], 'returned 0 owners for 1 nodes'),
                (['host1', 'host2'], 'returned 2 owners for 1 nodes'),
                (itertools.repeat('host1'), 'returned 2 owners for 1 nodes'),
                (None, 'TypeError'),
                (lambda *asked: {}['its own mistake'], 'its own mistake'),
            ):
                self.assert_fault(kind, method, answer, what)
        # It cannot change their order: owners are matched by position.
        nodes = [world.node(2), world.node(1)]
        with self.assertRaisesRegex(exceptions.PluginFaultError, 'reverse'):
            answering(
                Older, 'assign', lambda nodes, hosts: nodes.reverse()
            ).choose(nodes, PEERS, {})

    def test_attribute_that_is_code(self) -> None:
        def exits(self: object) -> None:
            raise SystemExit(0)

        # It would run when the class is loaded.
        for kind, name in (
            *((Assigner, 'rebalancing'), (Assigner, 'node_by_node')),
            *((Assigner, 'reads_owners'), (Assigner, 'releases_free')),
            *((Filter, 'deprecated'), (Filter, 'contract_version')),
            (Filter, '__getattribute__'),
        ):
            target = type('Hostile', (kind,), {name: property(exits)})
            fault = plugin_validation.policy_fault(target)
            self.assertIn(name, fault or '')
        for kind in (Filter, Older):
            self.assertIsNone(plugin_validation.policy_fault(kind))


class TestInterrupts(unittest.TestCase):
    def test_interrupt_of_an_operator_is_none_of_a_plugin(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        note_interrupts()
        self.assertFalse(is_interrupt(KeyboardInterrupt()))
        with self.assertRaises(KeyboardInterrupt) as caught:
            signal.raise_signal(signal.SIGINT)
        self.assertTrue(is_interrupt(caught.exception))
