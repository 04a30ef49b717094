"""Answers of policies that are code: it runs where it is named as a fault."""

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
from ironic_ownership.engine.decision import policy_set
from tests.unit.engine import world


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
    answer: Any = model.Scope()

    def scope(self) -> model.Scope:
        answer: model.Scope = self.answer
        return answer


class Assigner(policy.AssignerPolicy):
    contract_version = 2
    answer: Any = None
    others: Any = frozenset()

    def peers(self, host, candidates, scope):
        return self.others

    def choose(self, request):
        return [self.answer for _ in request.nodes]


def _with(kind: type[policy.Policy], **values: Any) -> policy.Policy:
    return type('Hostile', (kind,), values)({})  # type: ignore[return-value]


class TestAnswers(unittest.TestCase):
    def assert_fault(self, one: policy.Policy, ask: Any) -> str:
        chosen = policy_set.PolicySet.of([one])
        with self.assertRaises(exceptions.PluginFaultError) as caught:
            ask(chosen)
        self.assertIn('Hostile.', str(caught.exception))
        return str(caught.exception)

    def test_scope_of_texts_that_are_compared(self) -> None:
        for answer in (
            model.Scope(shard=_Text('a')),
            model.Scope(conductor_group=_Once('a')),
            model.Scope(nothing=_Text('a')),  # type: ignore[arg-type]
        ):
            self.assert_fault(
                _with(Filter, answer=answer),
                lambda chosen: chosen.admits(world.node(1, shard='a')),
            )

    def test_scope_with_code_of_its_own_is_not_asked(self) -> None:
        chosen = policy_set.PolicySet.of([_with(Filter, answer=_Scope('a'))])
        self.assertFalse(chosen.scope.matches('b', ''))

    def test_peers_that_are_compared(self) -> None:
        for other in (_Once('host2'), 5):
            self.assert_fault(
                _with(Assigner, others=frozenset({other})),
                lambda chosen: chosen.peers('host1', ('host1', 'host2')),
            )

    def test_owner_that_is_compared(self) -> None:
        for answer in (
            _Text('host1'),
            _Once('host1'),
            _Choice(),
            policy.Choice(_Once('host1')),
            policy.Choice('host1', _Once('x')),
        ):
            self.assert_fault(
                _with(Assigner, answer=answer),
                lambda chosen: chosen.choose(
                    [world.node(1)], [policy.Peer('host1')], {}
                ),
            )

    def test_owners_without_an_end(self) -> None:
        for method in ('assign', 'choose'):
            endless = _with(
                Assigner,
                **{method: lambda self, *given: itertools.repeat('host1')},
                **(
                    {'choose': policy.AssignerPolicy.choose}
                    if method == 'assign'
                    else {}
                ),
            )
            text = self.assert_fault(
                endless,
                lambda chosen: chosen.choose(
                    [world.node(1)], [policy.Peer('host1')], {}
                ),
            )
            self.assertIn('returned 2 owners for 1 nodes', text)

    def test_peers_without_an_end(self) -> None:
        endless = _with(Assigner, others=_Endless({'host2'}))
        chosen = policy_set.PolicySet.of([endless])
        self.assertEqual(
            {'host1', 'host2'}, chosen.peers('host1', ('host1', 'host2'))
        )

    def test_reason_that_cannot_be_encoded(self) -> None:
        odd = _with(Assigner, answer=policy.Choice('host1', 'a \udc80'))
        (found,) = policy_set.PolicySet.of([odd]).choose(
            [world.node(1)], [policy.Peer('host1')], {}
        )
        self.assertEqual(('host1', 'a ?'), (found.owner, found.note))


class TestAttributes(unittest.TestCase):
    """Attributes that are no plain values, when the class is loaded."""

    def test_attribute_that_is_code(self) -> None:
        def exits(self: object) -> None:
            raise SystemExit(0)

        for kind, name in (
            *((Assigner, 'rebalancing'), (Assigner, 'node_by_node')),
            *((Assigner, 'reads_owners'), (Assigner, 'releases_free')),
            *((Filter, 'deprecated'), (Filter, 'contract_version')),
            (Filter, '__getattribute__'),
        ):
            target = type('Hostile', (kind,), {name: property(exits)})
            fault = plugin_validation.policy_fault(target)
            self.assertIn(name, fault or '')
        self.assertIsNone(plugin_validation.policy_fault(Assigner))
        self.assertIsNone(plugin_validation.policy_fault(Filter))


class TestInterrupts(unittest.TestCase):
    """An interrupt of a plugin is a fault, one of an operator is none."""

    def setUp(self) -> None:
        super().setUp()
        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        note_interrupts()

    def test_interrupt_of_a_plugin(self) -> None:
        self.assertFalse(is_interrupt(KeyboardInterrupt()))

    def test_interrupt_of_an_operator(self) -> None:
        with self.assertRaises(KeyboardInterrupt) as caught:
            signal.raise_signal(signal.SIGINT)
        self.assertTrue(is_interrupt(caught.exception))
